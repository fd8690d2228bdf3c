"""Getting up from where one lies, planned: key postures, the motion through them, the plan."""
