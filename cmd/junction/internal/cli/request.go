package cli

import (
	"fmt"
	"io"
)

// maxFile is how large a file may be that becomes an argument.
const maxFile = 16 << 20

func ReadLimited(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
	}
	return data, err
}
