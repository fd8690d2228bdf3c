"""Knock-out and recovery: the states, the way back without a jump, getting up where one lies."""
