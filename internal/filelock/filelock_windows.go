package filelock

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is ERROR_SHARING_VIOLATION.
const sharingViolation syscall.Errno = 32

// Try opens a file exclusively. It creates the file if it is missing. If another process has opened
// it, the error is ErrLocked. Closing the file releases the lock.
func Try(path string) (*File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, err
	}
	return &File{os.NewFile(uintptr(handle), path)}, nil
}
