package sandbox

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// otherArchitecture makes system calls with the numbers of x32 and of 32-bit programs.
func otherArchitecture(*world) (string, error) {
	if _, _, errno := unix.RawSyscall(x32Bit|unix.SYS_GETPID, 0, 0, 0); errno == 0 {
		return "x32", nil
	}
	result := new(int32)
	const getpid32 = 20
	code := []byte{0x53, 0xb8, getpid32, 0, 0, 0, 0xcd, 0x80, 0x48, 0xba} // push rbx; mov eax, 20; int 0x80; mov rdx, result
	code = binary.LittleEndian.AppendUint64(code, uint64(uintptr(unsafe.Pointer(result))))
	code = append(code, 0x89, 0x02, 0x5b, 0xc3) // mov [rdx], eax; pop rbx; ret
	page, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return "", err
	}
	copy(page, code)
	at := unsafe.Pointer(&page[0])
	closure := &at
	(*(*func())(unsafe.Pointer(&closure)))()
	if *result > 0 {
		return "32 bits", nil
	}
	return "", fmt.Errorf("x32 is not there; 32 bits: %w", unix.Errno(-*result))
}
