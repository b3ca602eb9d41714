package export

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

const (
	// priority is facility 13, log audit, and severity 6, informational (RFC 5424).
	priority = 13*8 + 6
	// maxDatagram limits the bytes of a line that is sent as one datagram. A longer line is cut.
	maxDatagram = 60 << 10
)

// syslog is a sender of messages in the format of RFC 5424.
type syslog struct {
	network, address string
	head             string // part of each message after the time
	conn             net.Conn
}

func newSyslog(network, address, service string) *syslog {
	host, err := os.Hostname()
	if err != nil {
		host = "-"
	}
	return &syslog{network: network, address: address, head: fmt.Sprintf(" %s %s %d audit - ", host, service, os.Getpid())}
}

// send implements [sender]. Over TCP, lines that were sent just before the connection was lost may
// be lost, too.
func (s *syslog) send(ctx context.Context, lines [][]byte) error {
	if s.conn == nil {
		conn, err := new(net.Dialer).DialContext(ctx, s.network, s.address)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	deadline, _ := ctx.Deadline()
	err := s.conn.SetWriteDeadline(deadline)
	for i := 0; err == nil && i < len(lines); i++ {
		_, err = s.conn.Write(s.message(lines[i]))
	}
	if err != nil {
		s.close()
	}
	return err
}

func (s *syslog) close() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

// message returns the message for a line.
func (s *syslog) message(line []byte) []byte {
	at, ok := jsonrpc.Unquote(jsonrpc.Get(line, "time"))
	if !ok {
		at = time.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	text := fmt.Appendf(nil, "<%d>1 %s%s%s", priority, at, s.head, line)
	if s.network != "tcp" {
		return text[:min(len(text), maxDatagram)]
	}
	return append(fmt.Appendf(nil, "%d ", len(text)), text...)
}
