package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/model"
)

// Limits for sizes and times that a provider controls.
const (
	// maxAnswer is the maximum size of one answer on the wire in bytes.
	maxAnswer = 64 << 20
	// MaxEvent is the maximum size of one event of a stream, or of an answer that is not a stream,
	// in bytes.
	MaxEvent = 16 << 20
	// maxTapped is the number of bytes of each body in an Exchange.
	maxTapped = 4 << 20
	// answerTime is the maximum wait for the first byte of an answer. A model on the user's machine
	// may have to be loaded first.
	answerTime = 10 * time.Minute
	// idleTime is the maximum time without a byte in a stream.
	idleTime = 5 * time.Minute
)

// Errors while an answer is read.
var (
	ErrIdle     = errors.New("the provider stopped sending")
	ErrTooLarge = errors.New("the answer is larger than 64 MiB")
)

// Client returns a client like base (nil means [http.DefaultClient]) that does not follow
// redirects, so that a key goes only to its own server. base is not changed.
func Client(base *http.Client) *http.Client {
	base = cmp.Or(base, http.DefaultClient)
	c := *base
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// An exchange is a request and the body of its response, with limits of size and silence.
type exchange struct {
	model.Exchange
	tap    func(model.Exchange)
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // reset after each read
	body   io.ReadCloser
	size   int64
	got    bytes.Buffer
}

// do sends a request with a body. tap, if not nil, is called when the request has failed or the
// body of the response is closed.
func do(client *http.Client, req *http.Request, body []byte, tap func(model.Exchange)) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	x := &exchange{tap: tap, ctx: ctx, cancel: cancel, body: http.NoBody}
	x.Method, x.URL = req.Method, (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path}).String()
	x.RequestBody, x.Cut = body[:min(len(body), maxTapped)], len(body) > maxTapped
	x.timer = time.AfterFunc(answerTime, func() { cancel(ErrIdle) })
	res, err := client.Do(req.WithContext(ctx))
	if err != nil {
		err = x.because(err)
		_ = x.Close()
		return nil, err
	}
	x.Status = res.StatusCode
	x.timer.Reset(idleTime)
	x.body, res.Body = res.Body, x
	return res, nil
}

// because returns ErrIdle or ErrTooLarge if one of them ended the exchange, and err otherwise. The
// transport's error would only report that the context was canceled.
func (x *exchange) because(err error) error {
	if cause := context.Cause(x.ctx); errors.Is(cause, ErrIdle) || errors.Is(cause, ErrTooLarge) {
		return cause
	}
	return err
}

// Read reads from the body. The error is ErrIdle or ErrTooLarge if a limit was the cause.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	if n > 0 {
		x.timer.Reset(idleTime)
	}
	if x.tap != nil {
		room := maxTapped - x.got.Len()
		x.got.Write(p[:min(n, room)])
		x.Cut = x.Cut || n > room
	}
	x.size += int64(n)
	if x.size > maxAnswer {
		x.cancel(ErrTooLarge)
		return 0, ErrTooLarge
	}
	if err != nil && err != io.EOF {
		err = x.because(err)
	}
	return n, err
}

// Close ends the exchange and calls its tap, once.
func (x *exchange) Close() error {
	x.timer.Stop()
	err := x.body.Close()
	x.cancel(nil)
	if x.tap != nil {
		x.ResponseBody = x.got.Bytes()
		x.tap(x.Exchange)
		x.tap = nil
	}
	return err
}

// MaxAttempts is the number of times that a request is sent, each time without the parts that the
// provider refused before.
const MaxAttempts = 12

// A Service is a provider's API with its restrictions.
type Service struct {
	Provider string
	URL      string
	Client   *http.Client // result of [Client]
	Key      string
	Header   func(h http.Header, key string) // sets the headers of a request
	Dialect  model.Dialect
	Learned  Learned

	// Body encodes a request with these tools. Learned restrictions are applied later.
	Body func(req *model.Request, tools []model.Tool) ([]byte, error)
	// Begin starts the assembly of an answer.
	Begin func(a *Answer) Assembly
}

// BaseURL parses the base URL of an API. The error includes like as a valid example.
func BaseURL(provider, base, like string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: the base URL %q is not valid; it looks like %s", provider, redact.URL(base), like)
	}
	return u, nil
}

// Generate sends the request, and repeats it without the refused parts; see [model.Model].
func (s *Service) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	return s.insist(req, func(sent *model.Request, tools []model.Tool) (*model.Response, error) {
		return s.ask(ctx, sent, tools, emit)
	})
}

// insist sends a request with ask and repeats it without refused parts. If ask returns a Response,
// an answer had begun, and the request is not repeated. Notes of the Response list omitted tools
// and pictures.
func (s *Service) insist(req *model.Request, ask func(req *model.Request, tools []model.Tool) (*model.Response, error)) (*model.Response, error) {
	tools, notes := model.Lower(req.Tools, s.Dialect)
	tools, aside := s.Learned.without(tools)
	notes = append(notes, aside...)
	var last error
	for range MaxAttempts {
		sent := s.Learned.sendable(req, &s.Dialect)
		res, err := ask(sent, tools)
		if res != nil {
			res.Notes = notes
			return res, err
		}
		next, more, again := s.Learned.from(err, tools)
		if !again {
			more, again = s.Learned.fromPictures(err, sent)
		}
		if !again {
			return nil, err
		}
		tools, notes, last = next, append(notes, more...), err
	}
	return nil, &model.Error{Provider: s.Provider, Message: fmt.Sprintf("the request was refused in %d forms, finally with: %v", MaxAttempts, last), Err: model.ErrBadTool}
}

// ask sends a request once and reads the answer. The Response is nil if no part of an answer was
// received.
func (s *Service) ask(ctx context.Context, req *model.Request, tools []model.Tool, emit func(model.Delta)) (*model.Response, error) {
	body, err := s.Body(req, tools)
	if err != nil {
		return nil, &model.Error{Provider: s.Provider, Message: "the request cannot be written as JSON", Err: err}
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, &model.Error{Provider: s.Provider, Err: err}
	}
	post.Header.Set("Content-Type", "application/json")
	s.Header(post.Header, s.Key)
	res, err := do(s.Client, post, body, req.Tap)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, &model.Error{Provider: s.Provider, Err: err}
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return nil, s.responseError(res)
	}
	a := &Answer{Provider: s.Provider, Emit: emit, IDs: NewIDs(req)}
	assembly := s.Begin(a)
	failed := s.problem(ctx, a, a.read(res, assembly))
	if !a.Begun {
		return nil, failed
	}
	return a.response(req, assembly.Message(failed != nil), failed != nil), failed
}

// Bearer sends the key as a bearer token.
func Bearer(h http.Header, key string) {
	h.Set("Accept", "application/json") // OpenAI's libraries send this also for streams
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// A Member is a member of requests that a service may refuse.
type Member struct {
	Name string
	// Words lists words; an error about the member contains one of them.
	Words []string
}

// Learned holds the restrictions of a service that its refusals revealed: tools, pictures and
// members. It is safe for concurrent use.
type Learned struct {
	// Members lists the members that can be omitted, in the order in which errors are searched for
	// them.
	Members []Member

	mu         sync.Mutex
	refused    map[[sha256.Size]byte]string // reasons, by the hash of a tool's definition or of a picture's data
	left       map[string]bool
	mostTokens int // limit of an answer; 0 until one was refused
}

// Left returns the names of the omitted members.
func (l *Learned) Left() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.left)
}

// MostTokens returns the largest accepted limit of an answer, or 0 if it is unknown.
func (l *Learned) MostTokens() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mostTokens
}

// from learns from an error. It returns the tools for the next attempt, and reports whether there
// should be one.
func (l *Learned) from(err error, tools []model.Tool) (next []model.Tool, notes []model.Note, again bool) {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Status != http.StatusBadRequest && failure.Status != http.StatusUnprocessableEntity || failure.Err != nil {
		return tools, nil, false
	}
	if bad := namedTools(failure.Message, tools); len(bad) > 0 {
		for _, i := range bad {
			l.remember(fingerprint(&tools[i]), "the provider does not accept it: "+failure.Message)
		}
		next, notes = l.without(tools)
		return next, notes, true
	}
	return tools, nil, l.learn(failure.Message)
}

// learn finds the member that an error is about and omits it from now on. It returns false if there
// is none, or if the member was omitted already.
func (l *Learned) learn(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if match := tooMany().FindStringSubmatch(message); match != nil {
		most, err := strconv.Atoi(match[1])
		changes := err == nil && most > 0 && most != l.mostTokens
		l.mostTokens = most
		return changes
	}
	for _, m := range l.Members {
		mentioned := slices.ContainsFunc(m.Words, func(word string) bool { return strings.Contains(message, word) })
		if mentioned && !l.left[m.Name] && refusal().MatchString(message) {
			if l.left == nil {
				l.left = map[string]bool{}
			}
			l.left[m.Name] = true
			return true
		}
	}
	return false
}

var (
	refusal     = lazy.Regexp(`(?i)not (be )?(supported|permitted|allowed|recogni[sz]ed|accepted)|unsupported|does(n't| not) support|unknown|unrecognized|unexpected|extra (input|field)|cannot find field|only the default|not a valid|could not be (verified|decrypted)`)
	byPosition  = lazy.Regexp(`(function_declarations|functions|tools)(?:\[|\.)(\d{1,4})\b`)
	tooMany     = lazy.Regexp(`max_tokens: \d+ > (\d+)`)
	missingHint = lazy.Regexp(`(?i)messages?[\[.]\d|must be (passed|sent) back|missing a .?thought_signature`)
)

// namedTools returns the indexes of the tools that an error names by position or by name.
func namedTools(message string, tools []model.Tool) []int {
	if missingHint().MatchString(message) {
		return nil // the error is about the conversation, which also contains names of tools
	}
	for _, list := range []string{"function_declarations", "functions", "tools"} {
		var found []int
		for _, match := range byPosition().FindAllStringSubmatch(message, -1) {
			i, err := strconv.Atoi(match[2])
			if match[1] == list && err == nil && i < len(tools) && !slices.Contains(found, i) {
				found = append(found, i)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	var found []int
	for i := range tools {
		if slices.ContainsFunc([]string{"'", `"`, "`"}, func(q string) bool { return strings.Contains(message, q+tools[i].Name+q) }) {
			found = append(found, i)
		}
	}
	return found
}

// leastWindow is the smallest plausible window of a model in tokens. A smaller number in an error
// counts something else.
const leastWindow = 256

// windows match the model's window in errors about requests that are too long. The size of the
// request is next to it and must not be matched.
var windows = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		// OpenAI, DeepSeek, vLLM, OpenRouter, Mistral: "maximum context length is 32768 tokens"; xAI: "maximum prompt length is";
		// vLLM: "longer than the maximum model length of"
		regexp.MustCompile(`(?i)maximum (?:context|prompt|model|input) (?:length|size|window) (?:is|of) (?:only )?([\d,]+)`),
		// llama.cpp: "exceeds the available context size (4096 tokens)"; LM Studio: "loaded with context length of only 4096"
		regexp.MustCompile(`(?i)context (?:size|length|window) (?:\(|of (?:only )?|is (?:only )?)([\d,]+)`),
		// Anthropic: "208310 tokens > 200000 maximum", "context limit: 188240 + 21333 > 200000"
		regexp.MustCompile(`(?i)[\d,]+(?: tokens)? > ([\d,]+)`),
		// Gemini: "exceeds the maximum number of tokens allowed (1048576)"
		regexp.MustCompile(`(?i)maximum number of (?:input )?tokens(?: allowed)? \(([\d,]+)`),
		// Qwen: "Range of input length should be [1, 30720]"
		regexp.MustCompile(`(?i)input length should be \[\d+, ?([\d,]+)\]`),
		// Mistral: "too large for model with 32768 maximum context length"
		regexp.MustCompile(`(?i)([\d,]+) maximum context length`),
	}
})

// windowOf returns the model's window in tokens from an error, or 0.
func windowOf(c Complaint) int {
	if c.Window >= leastWindow {
		return c.Window
	}
	for _, form := range windows() {
		if match := form.FindStringSubmatch(c.Message); match != nil {
			if n, err := strconv.Atoi(strings.ReplaceAll(match[1], ",", "")); err == nil && n >= leastWindow {
				return n
			}
		}
	}
	return 0
}
