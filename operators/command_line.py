def run(argv): return 1
