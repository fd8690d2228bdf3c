"""What a character's bones are: roles, the tables of masses and ranges by role, and the axes of its joints."""
