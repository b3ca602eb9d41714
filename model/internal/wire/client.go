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

	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/model"
)

// What a provider can make grow, and how long it is waited for.
const (
	// maxAnswer is how many bytes one answer may have, as it comes on the wire.
	maxAnswer = 64 << 20
	// MaxEvent is how many bytes one event of a stream, or an answer that is no stream, may have.
	MaxEvent = 16 << 20
	// maxTapped is how many bytes of each body an Exchange keeps.
	maxTapped = 4 << 20
	// answerTime is how long the first byte of an answer may take: a model on the
	// user's own machine may have to be loaded first.
	answerTime = 10 * time.Minute
	// idleTime is how long a stream may be silent.
	idleTime = 5 * time.Minute
)

// What went wrong with the answer itself.
var (
	ErrIdle     = errors.New("the provider fell silent")
	ErrTooLarge = errors.New("the answer is larger than 64 MiB")
)

// Client returns a client like base (nil means [http.DefaultClient]) that follows no redirects: a key is sent to the
// server it was meant for and to no other. base is not changed.
func Client(base *http.Client) *http.Client {
	base = cmp.Or(base, http.DefaultClient)
	c := *base
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// exchange is a request and its answer, whose body it is: bounded in size and silence.
type exchange struct {
	model.Exchange
	tap    func(model.Exchange)
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // that each byte winds up again
	body   io.ReadCloser
	size   int64
	got    bytes.Buffer
}

// do makes a request with a body. The tap learns of it when it has failed, or the body of the answer is
// closed; it may be nil.
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

// because returns the cause of an end where it is ours, as the error of the
// transport says no more than that the context was canceled.
func (x *exchange) because(err error) error {
	if cause := context.Cause(x.ctx); errors.Is(cause, ErrIdle) || errors.Is(cause, ErrTooLarge) {
		return cause
	}
	return err
}

// Read reads on. The error is ErrIdle or ErrTooLarge where a limit was the cause.
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

// Close ends the exchange and tells its tap, once.
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

// MaxAttempts is in how many forms one request is made: each time without what the provider refused before.
const MaxAttempts = 12

// Service is a provider's API: where requests go, and what it takes.
type Service struct {
	Provider string
	URL      string
	Client   *http.Client // one of [Client]
	Key      string
	Header   func(h http.Header, key string) // sets the headers of a request
	Dialect  model.Dialect
	Learned  Learned

	// Body writes a request with these tools, without what was learned.
	Body func(req *model.Request, tools []model.Tool) ([]byte, error)
	// Begin begins to put an answer together.
	Begin func(a *Answer) Assembly
}

// BaseURL reads the URL below which an API is. The error shows like, a good one.
func BaseURL(provider, base, like string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: the base URL %q is not one; it looks like %s", provider, redact.URL(base), like)
	}
	return u, nil
}

// Generate makes the request, and again without what is refused; see [model.Model].
func (s *Service) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	return s.insist(req, func(sent *model.Request, tools []model.Tool) (*model.Response, error) {
		return s.ask(ctx, sent, tools, emit)
	})
}

// insist makes a request with ask, whose Response says that an answer had begun, and
// again without what was refused. Notes of the Response tell of tools and pictures.
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
	return nil, &model.Error{Provider: s.Provider, Message: fmt.Sprintf("the request was refused in %d forms, at last: %v", MaxAttempts, last), Err: model.ErrBadTool}
}

// ask makes a request in one form, and reads the answer. The Response is nil where nothing of one had come.
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
		return nil, s.answered(res)
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
	h.Set("Accept", "application/json") // as OpenAI's libraries say, also for a stream
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// Member is a member of a request that a service may not take.
type Member struct {
	Name string
	// Words are what a complaint about it mentions, one of them.
	Words []string
}

// Learned is what was found out about a service by asking: the tools, pictures and members that
// it does not take. It may be used from many goroutines.
type Learned struct {
	// Members are those that can be left out, in the order in which they are looked for.
	Members []Member

	mu         sync.Mutex
	refused    map[[sha256.Size]byte]string // tools, by all that was sent of them, and pictures, by their data; and why
	left       map[string]bool
	mostTokens int // of an answer; 0 while no limit was refused
}

// Left returns the members that are left out.
func (l *Learned) Left() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.left)
}

// MostTokens is the largest limit of an answer that the model takes; 0 if that is not known.
func (l *Learned) MostTokens() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mostTokens
}

// from learns from an error. It says whether to ask again, and with which tools.
func (l *Learned) from(err error, tools []model.Tool) (next []model.Tool, notes []model.Note, again bool) {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Status != http.StatusBadRequest && failure.Status != http.StatusUnprocessableEntity || failure.Err != nil {
		return tools, nil, false
	}
	if bad := namedTools(failure.Message, tools); len(bad) > 0 {
		for _, i := range bad {
			l.remember(fingerprint(&tools[i]), "the provider does not take it: "+failure.Message)
		}
		next, notes = l.without(tools)
		return next, notes, true
	}
	return tools, nil, l.learn(failure.Message)
}

// learn finds the member that an error is about, and leaves it out from now on. It
// reports false if there is none, or it was left out already.
func (l *Learned) learn(message string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if match := tooMany.FindStringSubmatch(message); match != nil {
		most, err := strconv.Atoi(match[1])
		changes := err == nil && most > 0 && most != l.mostTokens
		l.mostTokens = most
		return changes
	}
	for _, m := range l.Members {
		mentioned := slices.ContainsFunc(m.Words, func(word string) bool { return strings.Contains(message, word) })
		if mentioned && !l.left[m.Name] && refusal.MatchString(message) {
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
	refusal     = regexp.MustCompile(`(?i)not (be )?(supported|permitted|allowed|recogni[sz]ed|accepted)|unsupported|does(n't| not) support|unknown|unrecognized|unexpected|extra (input|field)|cannot find field|only the default|not a valid|could not be (verified|decrypted)`)
	byPosition  = regexp.MustCompile(`(function_declarations|functions|tools)(?:\[|\.)(\d{1,4})\b`)
	tooMany     = regexp.MustCompile(`max_tokens: \d+ > (\d+)`)
	missingHint = regexp.MustCompile(`(?i)messages?[\[.]\d|must be (passed|sent) back|missing a .?thought_signature`)
)

// namedTools are the tools that an error is about, by position or by name.
func namedTools(message string, tools []model.Tool) []int {
	if missingHint.MatchString(message) {
		return nil // it is about the conversation, in which tools are named too
	}
	for _, list := range []string{"function_declarations", "functions", "tools"} {
		var found []int
		for _, match := range byPosition.FindAllStringSubmatch(message, -1) {
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

// leastWindow is the least number of tokens that is believed to be a model's window: a
// smaller one in a complaint counts something else.
const leastWindow = 256

// windows find how many tokens a model takes in what providers say about a request that
// is too long. The number of the request stands next to it, and must not be taken for it.
var windows = []*regexp.Regexp{
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

// windowOf is how many tokens the model takes, as a complaint says; 0 if it does not.
func windowOf(c Complaint) int {
	if c.Window >= leastWindow {
		return c.Window
	}
	for _, form := range windows {
		if match := form.FindStringSubmatch(c.Message); match != nil {
			if n, err := strconv.Atoi(strings.ReplaceAll(match[1], ",", "")); err == nil && n >= leastWindow {
				return n
			}
		}
	}
	return 0
}
