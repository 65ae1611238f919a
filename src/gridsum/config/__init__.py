"""What a run is, as frozen data, and how such data is named, read and changed."""
