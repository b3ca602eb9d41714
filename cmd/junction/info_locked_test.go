package main

import "testing"

func TestInfoShowsWhatIsLocked(t *testing.T) {
	s := newPackageSet(t)
	alone(t)
	s.runs(t, "y\n", "add", "npm:@x/echo@1.0.0").expect(t, exitOK, "Added", "")
	for _, word := range []string{"npm:@x/echo", "npm:@x/echo@1.0.0"} {
		s.runs(t, "", "info", word).expect(t, exitOK, "echo, which junction.lock says is npm @x/echo 1.0.0: ", "")
	}
	s.runs(t, "", "info", "npm:@x/echo", "--json").expect(t, exitOK, `{"locked":{"echo":{`, "")
	s.runs(t, "", "info", "npm:@x/echo@2.0.0").expect(t, exitUsage, "", "npm:@x/echo@2.0.0 is a package, and none that is locked")
	s.runs(t, "", "info", "echo", "--registry", "http://127.0.0.1:1").expect(t, exitOK, "echo, which junction.lock says is npm @x/echo 1.0.0: ", "that is what is locked")
	if got := s.runs(t, "", "info", "other", "--registry", "http://127.0.0.1:1"); got.code != exitConnection {
		t.Errorf("%+v", got)
	}
}
