package reach

import (
	"path/filepath"
)

// nextTo returns the path named in a file, relative to the file's folder.
func nextTo(file, named string) string {
	if named == "" || filepath.IsAbs(named) {
		return named
	}
	return filepath.Join(filepath.Dir(file), named)
}

// ReviewNone is the review setting with which tools are offered without a review.
const ReviewNone = "none"
