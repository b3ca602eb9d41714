package guard

import (
	"slices"
	"testing"
)

func TestAnApprovalIsWithdrawn(t *testing.T) {
	var f Flow
	web, mail := Source{Server: "web", Tool: "fetch"}, Source{Server: "mail", Tool: "read"}
	f.Read(web, Untrusted, "a page")
	f.Read(mail, Untrusted, "a letter")
	send := Call{Server: "files", Tool: "write", Annotations: Annotations{ReadOnly: new(false)}}
	f.Consent(f.Ask(send))
	all := f.Approvals()
	if len(all) != 1 || all[0].Server != "files" || all[0].Tool != "write" || all[0].Reason != Tainted || !slices.Equal(all[0].Sources, []Source{mail, web}) {
		t.Fatalf("remembered are %+v", all)
	}
	if d := f.Ask(send); !d.Allowed {
		t.Errorf("asked again: %s", d.Why)
	}
	if !f.Withdraw(all[0]) || f.Withdraw(all[0]) || f.Ask(send).Allowed || len(f.Approvals()) != 0 {
		t.Errorf("it is remembered still: %+v", f.Approvals())
	}
}

func TestResultsOfAServerAreUntrusted(t *testing.T) {
	var f Flow
	f.Read(Source{Server: "files", Tool: "read"}, Private, "mine")
	f.Read(Source{Server: "other", Tool: "read"}, Private, "mine")
	f.Read(Source{Server: "files", Tool: "tell"}, 0, "nobody's")
	f.Distrust(func(s Source) bool { return s.Server == "files" })
	if got := f.Sources(Untrusted); len(got) != 2 || got[0].Server != "files" || got[1].Server != "files" {
		t.Errorf("untrusted is %v", got)
	}
}
