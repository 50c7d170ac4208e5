"""Files that describe robots, and readers and writers of them."""
