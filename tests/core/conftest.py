"""Settings of hypothesis for all tests of core."""

from hypothesis import settings

# Times on a busy machine say nothing; tests that need more examples, or can do with fewer, say so themselves.
settings.register_profile("core", deadline=None, max_examples=50)
settings.load_profile("core")
