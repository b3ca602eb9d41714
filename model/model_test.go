package model_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/junction-mcp/junction/model"
)

func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	a := model.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4, Reasoning: 5}
	b := model.Usage{Input: 10, Output: 20, CacheRead: 30, CacheWrite: 40, Reasoning: 50, Estimated: true}
	want := model.Usage{Input: 11, Output: 22, CacheRead: 33, CacheWrite: 44, Reasoning: 55, Estimated: true}
	if got := a.Add(b); got != want || b.Add(a) != want {
		t.Errorf("%+v", got)
	}
}

func TestPriceOfTokens(t *testing.T) {
	t.Parallel()
	full := model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	for _, test := range []struct {
		name  string
		price model.Price
		usage model.Usage
		want  float64
	}{
		{"nothing costs nothing", full, model.Usage{}, 0},
		{"a million each way", full, model.Usage{Input: 1e6, Output: 1e6}, 18},
		{"the cached part is cheaper", full, model.Usage{Input: 1e6, CacheRead: 5e5, CacheWrite: 1e5}, 0.4*3 + 0.5*0.3 + 0.1*3.75},
		{"without a price for the cache it costs as input", model.Price{Input: 2}, model.Usage{Input: 1e6, CacheRead: 4e5, CacheWrite: 1e5}, 2},
		{"a provider that counts more cached than read is not paid less than nothing", full, model.Usage{Input: 10, CacheRead: 1e6}, 0.3},
		{"free models are free", model.Price{}, model.Usage{Input: 1e9, Output: 1e9}, 0},
	} {
		if got := test.price.Cost(test.usage); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v, not %v", test.name, got, test.want)
		}
	}
}

func TestEstimateIsAQuarterRoundedUp(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int]int{0: 0, 1: 1, 4: 1, 5: 2, 4000: 1000} {
		if got := model.EstimateTokens(bytes); got != want {
			t.Errorf("%d bytes are %d tokens, not %d", bytes, got, want)
		}
	}
}

func TestMessageIsStoredAsItIs(t *testing.T) {
	t.Parallel()
	m := model.Message{
		Role: model.RoleAssistant,
		Parts: []model.Part{
			{Reasoning: &model.Reasoning{Text: "hm", Provider: "p", Raw: json.RawMessage(`{"signature":"x"}`)}},
			{Text: "a"}, {Media: &model.Media{Type: "image/png", Data: []byte{0, 255}}},
			{Call: &model.Call{
				ID: "1", Name: "n", Arguments: json.RawMessage(`{"z":1,"a":[2]}`), Malformed: "why", Raw: "{z",
				Extra: map[string]map[string]json.RawMessage{"p": {"signature": json.RawMessage(`"y"`)}},
			}},
			{Result: &model.Result{CallID: "1", Name: "n", IsError: true, Parts: []model.Part{{Text: "b"}, {Media: &model.Media{Type: "audio/wav"}}, {Text: "c"}}}},
			{Opaque: &model.Opaque{Provider: "p", Raw: json.RawMessage(`[1]`)}}, {Text: "d"},
		},
		Extra: map[string]map[string]json.RawMessage{"p": {"reasoning_content": json.RawMessage(`"hm"`)}},
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back model.Message
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(m.Parts[:4], back.Parts[:4]) || !reflect.DeepEqual(m.Extra, back.Extra) {
		t.Errorf("%s\nbecame\n%+v", text, back)
	}
	if got := back.Text(); got != "ad" {
		t.Errorf("the text is %q", got)
	}
	if calls := back.Calls(); len(calls) != 1 || calls[0].ID != "1" {
		t.Errorf("the calls are %v", calls)
	}
	if got := back.Parts[4].Result.Text(); got != "b\nc" {
		t.Errorf("the text of the result is %q", got)
	}
}

func TestErrorNamesProviderAndReason(t *testing.T) {
	t.Parallel()
	err := error(&model.Error{Provider: "openai", Status: 429, Code: "rate_limit_exceeded", Message: "slow down", RetryAfter: time.Second, Err: model.ErrRateLimited})
	if got, want := err.Error(), "openai: status 429 (rate_limit_exceeded): slow down: too many requests"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if !errors.Is(err, model.ErrRateLimited) || errors.Is(err, model.ErrWindow) {
		t.Error("its cause is not what was set")
	}
	if got := (&model.Error{Provider: "p"}).Error(); got != "p" {
		t.Errorf("with nothing to say it is %q", got)
	}
}
