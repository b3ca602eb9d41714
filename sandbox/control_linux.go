package sandbox

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// An order tells the launcher which program to start and how to confine it.
type order struct {
	Path      string // path of the program; if empty, the launcher only tests the confinement
	Bare      bool   // confine without namespaces
	Argv      []string
	Env       []string
	Dir       string
	Places    []place
	Ports     []uint16
	Offline   bool // if Bare: no network at all
	Processes uint64
	Memory    uint64
	Counted   bool // a control group limits the memory of all processes together
	Files     uint64
	Watch     bool
	Scope     watch.Scope // system calls to watch
}

// A report is a message of the launcher.
type report struct {
	Step  string // completed step: network (with its sockets) or started; or the failed step
	Error string
	Errno unix.Errno // error number of Error, if there is one
}

const (
	maxReport = 64 << 10 // bytes of a report
	maxPassed = 253      // files in a message, as limited by the kernel
	chunk     = 64 << 10 // bytes of an order in one packet
)

// A channel carries orders, reports and open files in packets, between a launcher and its parent.
type channel struct{ *net.UnixConn }

func newChannel(f *os.File) (channel, error) {
	conn, err := net.FileConn(f)
	f.Close()
	if err != nil {
		return channel{}, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return channel{}, errors.New("not a Unix socket")
	}
	return channel{unixConn}, nil
}

func (c channel) sendOrder(o order) error {
	var order bytes.Buffer // not JSON, because arguments, variables and paths need not be UTF-8
	if err := gob.NewEncoder(&order).Encode(o); err != nil {
		return err
	}
	data := order.Bytes()
	if len(data)%chunk == 1 { // a packet with one byte marks the end, so no other may have that size
		data = append(data, 0)
	}
	for len(data) > 0 {
		n, err := c.Write(data[:min(len(data), chunk)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	_, err := c.Write([]byte{'\n'})
	return err
}

func (c channel) receiveOrder() (o order, err error) {
	var data []byte
	packet := make([]byte, chunk)
	for {
		n, err := c.Read(packet)
		switch {
		case err != nil:
			return o, err
		case n == 1 && packet[0] == '\n':
			return o, gob.NewDecoder(bytes.NewReader(data)).Decode(&o)
		case len(data)+n > maxOrder:
			return o, fmt.Errorf("arguments and environment have more than %d bytes", maxOrder)
		}
		data = append(data, packet[:n]...)
	}
}

// send sends a report and files. The receiver closes its copies of the files.
func (c channel) send(r report, files []*os.File) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = c.WriteMsgUnix(data, rights, nil)
	for _, f := range files {
		f.Close()
	}
	return err
}

func (c channel) receive() (r report, files []*os.File, err error) {
	data, rights := make([]byte, maxReport), make([]byte, unix.CmsgSpace(4*maxPassed))
	n, rn, _, _, err := c.ReadMsgUnix(data, rights)
	if err != nil {
		return r, nil, err
	}
	if rn > 0 {
		messages, err := unix.ParseSocketControlMessage(rights[:rn])
		if err != nil {
			return r, nil, err
		}
		for _, m := range messages {
			fds, err := unix.ParseUnixRights(&m)
			if err != nil {
				continue
			}
			for _, fd := range fds {
				unix.CloseOnExec(fd)
				unix.SetNonblock(fd, true)
				files = append(files, os.NewFile(uintptr(fd), "passed"))
			}
		}
	}
	if n == 0 {
		return r, files, io.EOF
	}
	return r, files, json.Unmarshal(data[:n], &r)
}
