package approvals

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/prometheus/client_golang/prometheus"
)

const (
	maxMessages = 200              // messages that wait to be sent
	messageTime = 10 * time.Second // for one attempt
	maxAttempts = 4
	retryPause  = time.Second // before the second attempt; it doubles each time
	maxResponse = 64 << 10    // bytes of a response that are read
)

// A Webhook is an address that gets a message about each call that begins to wait. Messages contain
// no arguments, as more people read them than may approve the call.
type Webhook struct {
	URL    string
	Secret string // signs the messages; empty for none
	Slack  bool   // whether the message has the form of Slack
	Team   string // URL of the page on which calls are approved, or empty
	HTTP   *http.Client
}

// A Messenger sends messages to webhooks, one at a time. Make it with [NewMessenger].
type Messenger struct {
	log    *slog.Logger
	queue  chan message
	counts *prometheus.CounterVec
	end    context.CancelFunc
	ended  sync.WaitGroup
	failed bool // whether the last message was not delivered; used by run only
}

type message struct {
	hook Webhook
	q    Call
}

// NewMessenger returns a Messenger. The caller must close it.
func NewMessenger(log *slog.Logger) *Messenger {
	ctx, end := context.WithCancel(context.Background())
	m := &Messenger{log: log, queue: make(chan message, maxMessages), end: end,
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "junction_approval_messages_total", Help: "Messages to the webhook about calls that wait for approval, by outcome."}, []string{"outcome"})}
	for _, outcome := range []string{"sent", "failed", "dropped"} {
		m.counts.WithLabelValues(outcome)
	}
	m.ended.Go(func() { m.run(ctx) })
	return m
}

// Collector returns the metric of the Messenger.
func (m *Messenger) Collector() prometheus.Collector { return m.counts }

// Send sends a message about a call. It does not wait, and drops the message if too many wait.
func (m *Messenger) Send(hook Webhook, q Call) {
	select {
	case m.queue <- message{hook, q}:
	default:
		m.counts.WithLabelValues("dropped").Inc()
	}
}

// Close ends the Messenger. Messages that wait are not sent.
func (m *Messenger) Close() { m.end(); m.ended.Wait() }

func (m *Messenger) run(ctx context.Context) {
	for {
		select {
		case one := <-m.queue:
			err := m.deliver(ctx, one)
			if ctx.Err() != nil {
				return
			}
			outcome := "sent"
			if err != nil {
				outcome = "failed"
			}
			m.counts.WithLabelValues(outcome).Inc()
			if err != nil && !m.failed {
				m.log.Warn("junction: a message about a call that waits for approval was not delivered; further failures are only counted", "error", err)
			}
			m.failed = err != nil
		case <-ctx.Done():
			return
		}
	}
}

// deliver sends a message, at most maxAttempts times. It stops when the call no longer waits.
func (m *Messenger) deliver(ctx context.Context, one message) error {
	body := one.hook.body(&one.q)
	id, pause := rand.Text(), retryPause
	for attempt := 1; ; attempt++ {
		again, err := one.hook.post(ctx, id, body)
		if err == nil || !again || attempt == maxAttempts || !time.Now().Add(pause).Before(one.q.Until) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause *= 2
	}
}

// post sends a message once. again reports whether another attempt may succeed. The message is
// signed as in the Standard Webhooks specification.
func (h *Webhook) post(ctx context.Context, id string, body []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, messageTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return false, h.fault(err)
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	if h.Secret != "" {
		req.Header.Set("Webhook-Id", id)
		req.Header.Set("Webhook-Timestamp", at)
		req.Header.Set("Webhook-Signature", "v1,"+h.signature(id, at, body))
	}
	resp, err := h.HTTP.Do(req)
	if err != nil {
		return true, h.fault(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxResponse)) // so that the connection can be used again
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return false, nil
	}
	again = resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests
	return again, h.fault(fmt.Errorf("HTTP status %d", resp.StatusCode))
}

// fault returns an error without the URL, whose path is a secret at some services.
func (h *Webhook) fault(err error) error {
	if u, is := errors.AsType[*url.Error](err); is {
		err = u.Err
	}
	host := "its host"
	if u, parsed := url.Parse(h.URL); parsed == nil {
		host = u.Host
	}
	return fmt.Errorf("approvals.webhook: %s: %w", host, err)
}

// secretPrefix begins secrets in the form of Standard Webhooks, which are base64.
const secretPrefix = "whsec_"

func (h *Webhook) signature(id, at string, body []byte) string {
	secret := []byte(h.Secret)
	if text, is := strings.CutPrefix(h.Secret, secretPrefix); is {
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			secret = decoded
		}
	}
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.", id, at)
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// body returns the message about a call.
func (h *Webhook) body(q *Call) []byte {
	var v any
	if h.Slack {
		v = h.slack(q)
	} else {
		shown := *q
		shown.Arguments = ""
		v = struct {
			Type string `json:"type"`
			Call
			URL string `json:"url,omitempty"`
		}{"approval.waiting", shown, h.Team}
	}
	text, _ := json.Marshal(v) // cannot fail: all members are texts and times
	return text
}

// A block is a part of a message of Slack. Texts of callers and servers have the type plain_text, in
// which nothing is markup.
type block struct {
	Type     string      `json:"type"`
	Text     *slackText  `json:"text,omitempty"`
	Fields   []slackText `json:"fields,omitempty"`
	Elements []element   `json:"elements,omitempty"`
}

type slackText struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type element struct {
	Type string    `json:"type"`
	Text slackText `json:"text"`
	URL  string    `json:"url"`
}

// maxSlackText is the largest number of characters of a field of Slack.
const maxSlackText = 1900

func (h *Webhook) slack(q *Call) any {
	plain := func(format string, a ...any) slackText {
		return slackText{"plain_text", plaintext.Short(fmt.Sprintf(format, a...), maxSlackText)}
	}
	var roles, reasons []string
	for _, p := range q.Parts {
		roles, reasons = append(roles, p.Role), append(reasons, cmp.Or(p.Reason, p.Rule))
	}
	title := fmt.Sprintf("A call waits for the role %s", strings.Join(roles, " and "))
	about := plain("%s of %s", q.Name, q.Server)
	blocks := []block{{Type: "section", Text: new(plain("%s", title))}, {Type: "section", Fields: []slackText{
		about, plain("Caller: %s", cmp.Or(q.Caller, "unknown")), plain("Rule: %s", strings.Join(reasons, "; ")), plain("Until: %s", q.Until.UTC().Format(time.DateTime+" UTC")),
	}}}
	if h.Team != "" {
		blocks = append(blocks, block{Type: "actions", Elements: []element{{"button", plain("Answer"), h.Team}}})
	}
	return struct {
		Text   string  `json:"text"` // for notifications; escaped, as it may be markup
		Blocks []block `json:"blocks"`
	}{slackEscaper.Replace(title), blocks}
}

var slackEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
