"""The ApplicationMaster's dialogue: register, allocate, finish."""
