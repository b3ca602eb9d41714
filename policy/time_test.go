package policy

import (
	"testing"
	"time"
)

func TestConditionsKnowTheTimeAndTheProfile(t *testing.T) {
	p, err := Compile([]Rule{
		{Effect: Deny, When: "now.getHours('Europe/Berlin') >= 18"},
		{Effect: Allow, When: "profile == 'work' && now < timestamp('2027-01-01T00:00:00Z')"},
	}, Options{Default: Ask})
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) time.Time {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for _, test := range []struct {
		name string
		in   Input
		want Effect
	}{
		{"in working hours, in the profile", Input{Profile: "work", Now: at("2026-11-23T09:00:00Z")}, Allow},
		{"in another profile", Input{Profile: "home", Now: at("2026-11-23T09:00:00Z")}, Ask},
		{"in the evening there", Input{Profile: "work", Now: at("2026-11-23T17:30:00Z")}, Deny},
		{"too late", Input{Profile: "work", Now: at("2027-02-01T09:00:00Z")}, Ask},
	} {
		if got := p.Decide(t.Context(), test.in); got.Effect != test.want {
			t.Errorf("%s: %v (%s), want %v", test.name, got.Effect, got.Reason, test.want)
		}
	}
	if p.Hides("s", "t", Annotations{}) {
		t.Error("a tool is hidden for good by a rule on the time")
	}
	now, err := Compile([]Rule{{Effect: Deny, When: "now < timestamp('2026-01-01T00:00:00Z')"}}, Options{Default: Allow})
	if err != nil {
		t.Fatal(err)
	}
	if got := now.Decide(t.Context(), Input{}); got.Effect != Allow {
		t.Errorf("without a time it is %v: %s", got.Effect, got.Reason)
	}
}
