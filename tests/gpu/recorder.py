"""recorder.py FILE...: prints the last collective operations in files of PyTorch's flight recorder."""
import pickle
import sys

for path in sys.argv[1:]:
    with open(path, "rb") as file:
        record = pickle.load(file)
    print(f"{path.rsplit('/', 1)[-1]}: version {record['version']}, {len(record['entries'])} operations; the last:")
    for entry in record["entries"][-3:]:
        frame = entry["frames"][0] if entry.get("frames") else {}
        print(f"  {entry['collective_seq_id']} {entry['profiling_name']} {entry['input_sizes']} {entry['state']} {frame.get('filename', '')}:{frame.get('line', '')}")
