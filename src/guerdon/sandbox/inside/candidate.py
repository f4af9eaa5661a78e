def serve(*a): pass
