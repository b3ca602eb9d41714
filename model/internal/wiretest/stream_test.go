package wiretest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/junction-mcp/junction/model"
)

// A stream is one recorded exchange.
type stream struct {
	Path    string
	Options json.RawMessage
	Request model.Request
	Sent    json.RawMessage // nil if any request is allowed
	Status  int
	Header  http.Header
	Body    []byte
	// Response and Deltas are the expected results.
	Response, Deltas string

	archive *txtar.Archive
}

// origin matches the line that gives the origin of a stream.
var origin = regexp.MustCompile(`(?m)^(synthetic$|synthetic, |published: |recorded: )`)

// read reads the file of a stream.
func read(path string) (*stream, error) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	if !origin.Match(archive.Comment) {
		return nil, fmt.Errorf("%s: where does it come from? A line of the comment begins with synthetic, published or recorded", path)
	}
	s := &stream{Path: path, Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, archive: archive}
	s.Request.Messages = []model.Message{model.UserText("go on")}
	for _, f := range archive.Files {
		if err := s.section(f.Name, f.Data); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, f.Name, err)
		}
	}
	return s, nil
}

func (s *stream) section(name string, data []byte) (err error) {
	switch name {
	case "options.json":
		s.Options = data
	case "request.json":
		s.Request = model.Request{}
		return json.Unmarshal(data, &s.Request)
	case "sent.json":
		s.Sent = data
	case "answer.http":
		s.Status, s.Header, err = answer(data)
	case "body":
		s.Body = data
	case "body.quoted":
		s.Body, err = unquoted(data)
	case "response.json":
		s.Response = string(data)
	case "deltas.txt":
		s.Deltas = string(data)
	default:
		return fmt.Errorf("no section has this name")
	}
	return err
}

func answer(data []byte) (int, http.Header, error) {
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(append(data, '\n'))))
	line, err := r.ReadLine()
	if err != nil {
		return 0, nil, err
	}
	var status int
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &status); err != nil {
		return 0, nil, err
	}
	header, err := r.ReadMIMEHeader()
	return status, http.Header(header), err
}

func unquoted(data []byte) ([]byte, error) {
	var body []byte
	for line := range strings.Lines(string(data)) {
		part, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		body = append(body, part...)
	}
	return body, nil
}

// write stores an outcome in the file as the expected one.
func (s *stream) write(o outcome) error {
	s.set("response.json", o.response)
	s.set("deltas.txt", o.deltas)
	return os.WriteFile(s.Path, txtar.Format(s.archive), 0o644)
}

func (s *stream) set(name, text string) {
	for i := range s.archive.Files {
		if s.archive.Files[i].Name == name {
			s.archive.Files[i].Data = []byte(text)
			return
		}
	}
	s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: []byte(text)})
}
