"""What lakegate does, each a page whose verbs are the words of the design. It reaches the world through ports alone."""
