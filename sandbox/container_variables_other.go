//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"os"
	"sync"
	"time"
)

// handOverTime is how long the engine's client may take to read the file before it is removed.
const handOverTime = time.Minute

// handOver writes a text to a file and removes it after a minute: there are no named pipes in a
// folder here.
func handOver(text string) (path string, ended func(), err error) {
	f, err := os.CreateTemp("", leftVariables) // with mode 0600
	if err != nil {
		return "", nil, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", nil, errors.Join(err, os.Remove(f.Name()))
	}
	remove := sync.OnceFunc(func() { _ = os.Remove(f.Name()) })
	timer := time.AfterFunc(handOverTime, remove)
	return f.Name(), func() { timer.Stop(); remove() }, nil
}
