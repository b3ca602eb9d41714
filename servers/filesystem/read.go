package filesystem

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/mcp"
)

// maxFiles is the maximum number of files in one call of read-files.
const maxFiles = 50

type readInput struct {
	Path     string `json:"path" doc:"Absolute path, or the root's name and what follows, such as root/folder/file.txt."`
	FromLine int    `json:"from_line,omitempty" doc:"First line to read, counted from 1; for text." min:"1" default:"1"`
	Lines    int    `json:"lines,omitempty" doc:"How many lines to read; as many as fit unless given." min:"1"`
	Tail     int    `json:"tail,omitempty" doc:"Read this many lines at the end instead, as of a log." min:"1"`
}

type readSeveralInput struct {
	Paths []string `json:"paths" doc:"Absolute paths, or the root's name and what follows, such as root/folder/file.txt." min:"1" max:"50"`
}

func (f *files) readFile(ctx context.Context, in readInput) ([]mcp.Content, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return nil, err
	}
	file, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := looksLikeText(file)
	switch {
	case err != nil:
		return nil, p.wrap(err)
	case !text:
		return f.binary(p, file, info.Size())
	case in.Tail > 0:
		return f.tail(p, file, info.Size(), in.Tail)
	}
	return f.lines(ctx, p, file, in)
}

// looksLikeText reports whether the beginning of a file is text, and seeks back to the start.
func looksLikeText(file io.ReadSeeker) (bool, error) {
	head := make([]byte, 8<<10)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return isText(head[:n], n == len(head)), err
}

// isText reports whether data is UTF-8 without zero bytes. If cut is set, data may end inside a
// character.
func isText(data []byte, cut bool) bool {
	if cut {
		data = wholeRunes(data)
	}
	return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0
}

// wholeRunes removes an incomplete character from the end.
func wholeRunes(data []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(data); i++ {
		if last := data[len(data)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

// lines returns a range of lines, up to maxRead bytes.
func (f *files) lines(ctx context.Context, p place, file io.Reader, in readInput) ([]mcp.Content, error) {
	r := bufio.NewReaderSize(file, 64<<10)
	if err := skipLines(ctx, r, in.FromLine-1); err != nil {
		return nil, fmt.Errorf("%s: line %d: %w", p, in.FromLine, err)
	}
	var text bytes.Buffer
	line, more := in.FromLine, false
	for in.Lines == 0 || line < in.FromLine+in.Lines {
		start := text.Len()
		whole, err := appendLine(&text, r, f.maxRead)
		if err != nil && err != io.EOF {
			return nil, p.wrap(err)
		}
		if !whole {
			if more = true; start > 0 { // the next range will include the whole line
				text.Truncate(start)
				break
			}
			text.Truncate(len(wholeRunes(text.Bytes())))
			return readable(p, text.String(), fmt.Sprintf("[Line %d is longer than %d bytes and is cut off here.]", line, f.maxRead))
		}
		if err == io.EOF {
			break
		}
		line++
	}
	if !more {
		_, err := r.Peek(1)
		more = err == nil
	}
	if !more {
		return readable(p, text.String(), "")
	}
	return readable(p, text.String(), fmt.Sprintf("[Lines %d to %d. There are more: continue with from_line %d.]", in.FromLine, line-1, line))
}

// skipLines skips n lines. It returns an error if there are fewer.
func skipLines(ctx context.Context, r *bufio.Reader, n int) error {
	for n > 0 {
		_, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			n--
		case err == io.EOF:
			return errors.New("the file ends before it")
		case err != bufio.ErrBufferFull:
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// appendLine appends a line, up to limit bytes of text. whole reports whether the whole line fit.
func appendLine(text *bytes.Buffer, r *bufio.Reader, limit int) (whole bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if room := limit - text.Len(); len(part) > room {
			text.Write(part[:room])
			return false, nil
		}
		text.Write(part)
		if err != bufio.ErrBufferFull {
			return true, err
		}
	}
}

// tail returns the last lines, up to maxRead bytes.
func (f *files) tail(p place, file *os.File, size int64, lines int) ([]mcp.Content, error) {
	from := max(0, size-int64(f.maxRead))
	data, err := io.ReadAll(io.NewSectionReader(file, from, int64(f.maxRead)))
	if err != nil {
		return nil, p.wrap(err)
	}
	at := len(data)
	for n := 0; n < lines && at > 0; n++ {
		at = bytes.LastIndexByte(data[:at-1], '\n') + 1
	}
	if at == 0 && from > 0 { // the data may begin inside a line
		at = bytes.IndexByte(data, '\n') + 1
		for at == 0 && len(data) > 0 && !utf8.RuneStart(data[0]) {
			data = data[1:]
		}
	}
	note := ""
	if at > 0 || from > 0 {
		note = "[The end of the file; there is more before it.]"
	}
	return readable(p, string(data[at:]), note)
}

// readable returns text as content. It returns an error for text that is not UTF-8, because the
// model would get it damaged.
func readable(p place, text, note string) ([]mcp.Content, error) {
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("%s: begins as UTF-8 text but is not UTF-8 throughout; it cannot be shown as text", p)
	}
	if text == "" && note == "" {
		note = "[No lines: the file is empty, or ends before this line.]"
	}
	content := []mcp.Content{mcp.Text(text)}
	if note != "" {
		content = append(content, mcp.Text(note))
	}
	return content, nil
}

// binary returns the content of a file that is not text.
func (f *files) binary(p place, file io.Reader, size int64) ([]mcp.Content, error) {
	data, err := f.whole(p, file, size)
	if err != nil {
		return nil, err
	}
	switch kind := http.DetectContentType(data); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return []mcp.Content{mcp.Image(data, kind)}, nil
	case "audio/wave":
		return []mcp.Content{mcp.Audio(data, "audio/wav")}, nil
	case "audio/mpeg":
		return []mcp.Content{mcp.Audio(data, kind)}, nil
	default:
		return []mcp.Content{mcp.Embed(mcp.BlobContents(p.uri(), kind, data))}, nil
	}
}

// whole returns all bytes of a file, or an error if there are more than maxRead.
func (f *files) whole(p place, file io.Reader, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(file, int64(f.maxRead)+1))
	if err != nil {
		return nil, p.wrap(err)
	}
	if len(data) > f.maxRead {
		return nil, fmt.Errorf("%s: has %d bytes; at most %d can be read at once", p, max(size, int64(len(data))), f.maxRead)
	}
	return data, nil
}

// readFiles reads text files. Each becomes a block after its path. Their total size has the same
// limit as one file.
func (f *files) readFiles(ctx context.Context, in readSeveralInput) ([]mcp.Content, error) {
	if len(in.Paths) > maxFiles {
		return nil, fmt.Errorf("paths: at most %d, got %d", maxFiles, len(in.Paths))
	}
	var out []mcp.Content
	left := f.maxRead
	for _, path := range in.Paths {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		text, err := f.readOne(path, left)
		if err != nil {
			out = append(out, mcp.Textf("=== %s\n[error: %v]", path, err))
			continue
		}
		left -= len(text)
		out = append(out, mcp.Textf("=== %s\n%s", path, text))
	}
	return out, nil
}

func (f *files) readOne(path string, limit int) (string, error) {
	p, err := f.find(path)
	if err != nil {
		return "", err
	}
	file, info, err := p.open()
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	switch {
	case err != nil:
		return "", p.wrap(err)
	case len(data) > limit:
		return "", fmt.Errorf("has %d bytes, too many for one answer with the others; use read-file", info.Size())
	case !isText(data, false):
		return "", errors.New("is not text; use read-file")
	}
	return strings.TrimSuffix(string(data), "\n"), nil
}
