"""Videos of policies in shifted worlds.

``watch``      records episodes of an evaluation
``renderer``   renders a MuJoCo world as an image, without a display
``writer``     encodes images as an mp4, WebP or GIF file
``captions``   metadata that is stored in a video
"""
