package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/junction-mcp/junction/internal/eventstream"
	"github.com/junction-mcp/junction/model"
)

// maxBody is the maximum size of a request in bytes.
const maxBody = 32 << 20

// A wire is the wire format of a kind of provider.
type wire interface {
	read(header http.Header, body []byte) (*request, error)
	// events returns the events to stream. Data that is a string is sent unchanged.
	events(a *answer) []event
	failure(message string) any
}

type event struct {
	name string
	data any
}

// Handler returns a handler that plays the turns. It is safe for concurrent use, stores no state
// and requires no key. It must be reachable only for tests.
func Handler(turns ...Turn) http.Handler {
	return player(func(req *request) (*answer, error) {
		n := req.turn()
		if n >= len(turns) {
			return nil, fmt.Errorf("the recording has %d turns, and this request comes after the last", len(turns))
		}
		a, err := turns[n].play(req, n)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", n, err)
		}
		return a, nil
	})
}

// HandlerFunc is like [Handler], but calls say to choose the turn. The arguments of say are the
// role (user or tool) and the text of the request's last message. It is meant for conversations
// whose order is not known in advance. say must be safe for concurrent use.
func HandlerFunc(say func(role, text string) Turn) http.Handler {
	return player(func(req *request) (*answer, error) {
		t := say(req.lastRole(), req.lastText())
		return t.play(req, req.turn())
	})
}

// A player returns the answer to a request. It is called only with requests that a strict provider
// would accept.
type player func(req *request) (*answer, error)

func (play player) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	switch {
	case strings.HasSuffix(req.URL.Path, "/chat/completions"):
		play.serve(w, req, chat{})
	case strings.HasSuffix(req.URL.Path, "/messages"):
		play.serve(w, req, messages{})
	case strings.HasSuffix(req.URL.Path, "/responses"):
		play.serve(w, req, responses{})
	default:
		http.Error(w, "replay: chat completions, responses and messages are played, and nothing at "+req.URL.Path, http.StatusNotFound)
	}
}

func (play player) serve(w http.ResponseWriter, httpReq *http.Request, by wire) {
	if httpReq.Method != http.MethodPost {
		http.Error(w, "replay: expected POST", http.StatusMethodNotAllowed)
		return
	}
	a, err := play.handle(w, httpReq, by)
	if err != nil {
		data, _ := json.Marshal(by.failure("replay: " + err.Error())) // never fails for texts
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(data) // an error means that the client has disconnected
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range by.events(a) {
		if err := writeEvent(w, e); err != nil {
			return // the client has disconnected
		}
	}
}

func (play player) handle(w http.ResponseWriter, httpReq *http.Request, by wire) (*answer, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, httpReq.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("the request cannot be read: %w", err)
	}
	req, err := by.read(httpReq.Header, body)
	if err != nil {
		return nil, err
	}
	if !req.stream {
		return nil, errors.New("stream is not true, and answers are streamed here")
	}
	req.read()
	if err := model.Check(&req.Request); err != nil {
		return nil, err
	}
	return play(req)
}

func writeEvent(w http.ResponseWriter, e event) error {
	text, isText := e.data.(string)
	data := []byte(text)
	if !isText {
		var err error
		if data, err = json.Marshal(e.data); err != nil {
			return err
		}
	}
	if _, err := w.Write(eventstream.AppendEvent(nil, eventstream.Event{Name: e.name, Data: data})); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// halves splits a text in two, to test the code that joins the parts.
func halves(s string) []string {
	runes := []rune(s)
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}

// blocks is the content of a message. The wire formats allow a single text or a list of blocks.
type blocks []block

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   blocks          `json:"content"`
	IsError   bool            `json:"is_error"`
}

// UnmarshalJSON decodes a string as one block, and null as no blocks.
func (b *blocks) UnmarshalJSON(data []byte) error {
	var text *string
	if json.Unmarshal(data, &text) == nil {
		*b = nil
		if text != nil && *text != "" {
			*b = blocks{{Type: "text", Text: *text}}
		}
		return nil
	}
	var list []block
	if err := json.Unmarshal(data, &list); err != nil {
		return errors.New("content is neither text nor blocks")
	}
	*b = list
	return nil
}

// texts converts the blocks to parts. Blocks other than text become media, whose content is not
// used.
func (b blocks) texts() []model.Part {
	var parts []model.Part
	for _, block := range b {
		if block.Type == "text" {
			parts = append(parts, model.Part{Text: block.Text})
		} else {
			parts = append(parts, model.Part{Media: &model.Media{Type: block.Type, Data: []byte(block.Type)}})
		}
	}
	return parts
}

func (b blocks) text() string {
	m := model.Message{Parts: b.texts()}
	return m.Text()
}
