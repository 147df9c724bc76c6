"""Speed of our fits beside those of other libraries, on the same data in the same run (`make bench`)."""
