"""One frame after another: the run of a shot, what acts in it, what is shown of it."""
