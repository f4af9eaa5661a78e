def answer(*a): pass
