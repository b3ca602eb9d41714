//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"os"
	"sync"
	"time"
)

// handOverTime is the time that the engine's client has for reading the file before it is removed.
const handOverTime = time.Minute

// handOver writes a text to a file and removes the file after a minute. This system has no named
// pipes in folders.
func handOver(text string) (path string, ended func(), err error) {
	f, err := os.CreateTemp("", leftVariables) // CreateTemp sets mode 0600
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
