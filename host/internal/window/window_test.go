package window

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

func said(role model.Role, text string) model.Message {
	return model.Message{Role: role, Parts: []model.Part{{Text: text}}}
}

func TestASummaryStandsForTheFirstMessages(t *testing.T) {
	var v View
	v.Keep("it is Friday")
	picture := model.Message{Role: model.RoleUser, Parts: []model.Part{{Media: &model.Media{Type: "image/png", Data: []byte{1}}}}}
	for _, m := range []model.Message{picture, said(model.RoleAssistant, strings.Repeat("long ", 500)), said(model.RoleUser, "and now?"), said(model.RoleAssistant, "done")} {
		v.Say(m)
	}
	if upTo := v.Boundary(0); upTo != 3 {
		t.Errorf("to keep the last turn, a summary stands for %d messages, want 3", upTo)
	}
	if _, yes := v.Gains(2, strings.Repeat("long ", 5_000)); yes || !v.GainedNothing() {
		t.Errorf("a summary that is longer gains: %v, and that it did not is forgotten: %v", yes, !v.GainedNothing())
	}
	after, yes := v.Gains(2, "a picture")
	if !yes || v.GainedNothing() {
		t.Error("a short summary gains nothing")
	}
	if bare := v.Summarize(5, "of more than there is"); bare != nil || len(v.Seen()) != 4 {
		t.Errorf("%d messages are seen after a summary of more than there are", len(v.Seen()))
	}
	bare := v.Summarize(2, "a picture")
	seen, all := v.Seen(), v.Messages()
	if len(bare) != 1 || bare[&picture.Parts[0]] == nil || len(all) != 4 || all[0].Parts[0].Media.Data != nil || picture.Parts[0].Media.Data == nil {
		t.Errorf("the picture was not dropped, or from what somebody else holds: %+v", all[0])
	}
	if text := seen[0].Text(); len(seen) != 2 || !strings.HasPrefix(text, SummaryMark) || !strings.Contains(text, "- it is Friday") || !strings.HasSuffix(text, "and now?") || v.Tokens() != after {
		t.Errorf("seen are %d messages of %d tokens, want 2 of %d; the first is %q", len(seen), v.Tokens(), after, text)
	}
	if summary, messages := v.Before(3); summary != "a picture" || len(messages) != 1 || messages[0].Text() != "and now?" {
		t.Errorf("before the last one are %q and %+v", summary, messages)
	}
}

func TestEstimatesAreCorrectedByCounts(t *testing.T) {
	var v View
	if got := v.Corrected(1_000); got != 1_000 {
		t.Errorf("at first 1,000 are %d", got)
	}
	v.Counted(1_000, model.Usage{Input: 1_500})
	v.Counted(1_000, model.Usage{Input: 9_000, Estimated: true})
	v.Counted(100, model.Usage{Input: 9_000})
	if got := v.Corrected(1_000); got != 1_500 {
		t.Errorf("1,000 are %d, want 1,500", got)
	}
	if v.Learn("m", 8_000); v.Learned("m") != 8_000 || v.Learned("other") != 0 {
		t.Errorf("the windows are %d and %d", v.Learned("m"), v.Learned("other"))
	}
}
