"""Videos of policies in shifted worlds.

``watch``      videos one episode of an evaluation
``renderer``   a MuJoCo world as an image, without a display
``writer``     images to an mp4 file
``captions``   what a video says of itself
"""
