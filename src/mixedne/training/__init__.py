"""Training runs: what they keep on disk, and how they are taken up again."""
