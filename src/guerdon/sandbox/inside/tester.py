def test(*a): pass
