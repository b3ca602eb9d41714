package cli

import (
	"fmt"
	"io"
	"os"
)

// maxFile is the largest size in bytes of a file that is read as an argument.
const maxFile = 16 << 20

// ReadLimited reads r to its end. It returns an error with the name for more than 16 MiB.
func ReadLimited(r io.Reader, name string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: larger than %d MiB", name, maxFile>>20)
	}
	return data, err
}

// MaxLog is the largest number of characters shown of a log message.
const MaxLog = 2_000

// ReadFile reads the file that an argument names, of up to 16 MiB. The name "-" means standard
// input.
func (a *App) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		return ReadLimited(a.Stdin, "standard input")
	}
	f, err := os.Open(a.Path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadLimited(f, name)
}
