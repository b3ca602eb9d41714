package cli

import (
	"errors"
	"net"
	"os"
)

// BindUnix listens at a file that only this user can open. It gets its name when it listens and nobody else can open it any
// more: one that refuses is taken for what a dead process left. Who listens removes it.
func BindUnix(path string) (*net.UnixListener, error) {
	temp := path + ".new"
	_ = os.Remove(temp) // of a process that was killed
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(temp, 0o600); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
