def run_tests(*a, **k):
    raise NotImplementedError
