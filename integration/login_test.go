package integration

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/formfill"
)

const (
	loginPassword = "correct horse battery"
	// shortTime is for how long an access token holds where clients have to outlive it, and its end is when it surely is over.
	shortTime = 5 * time.Second
	shortEnd  = shortTime + time.Second
)

// addAnn adds the user who logs in, in an environment.
func addAnn(t *testing.T, env []string) {
	t.Helper()
	add := exec.Command(junction(t), "user", "add", "ann")
	add.Env, add.Stdin = env, strings.NewReader(loginPassword+"\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// annLogsIn fills in the forms of a login at a page, to its end.
func annLogsIn(t *testing.T, page string) {
	t.Helper()
	browser := formfill.New(map[string]string{"username": "ann", "password": loginPassword, "decision": "allow"}, nil)
	if at, err := browser.Visit(t.Context(), page, nil); err != nil {
		t.Fatalf("the login ended at %s: %v", at, err)
	}
}

// loginPage is the address of a page to log in at.
var loginPage = regexp.MustCompile(`https?://[^\s"]+/oauth/authorize\?[^\s"]+`)

// pageIn waits for the page that a program says it opens, in what says returns.
func pageIn(t *testing.T, says func() string) string {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		said := says()
		if at := loginPage.FindStringIndex(said); at != nil && at[1] < len(said) { // else the rest of it is still to come
			return said[at[0]:at[1]]
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("it opens no page: %s", said)
		}
	}
}

// setAuthorization writes settings next to a configuration.
func setAuthorization(t *testing.T, config string, authorization object) {
	t.Helper()
	writeFile(t, filepath.Join(filepath.Dir(config), "junction.json"), encode(t, object{"junction": object{"authorization": authorization}}))
}

// localLogins is `junction up --auth local` in front of everything, with a user ann, and access tokens that hold for a time.
func localLogins(t *testing.T, tokenTime time.Duration) (issuer string) {
	t.Helper()
	return localLoginsAs(t, object{"tokenTime": tokenTime.String()})
}

// localLoginsAs is that with settings of authorization.
func localLoginsAs(t *testing.T, authorization object) (issuer string) {
	t.Helper()
	env, address := isolated(t), freeAddress(t)
	addAnn(t, env)
	everything := realServer{name: "everything", argv: func(t testing.TB) []string { return []string{junction(t), "serve", "everything"} }}
	config := upConfig(t, []realServer{everything})
	setAuthorization(t, config, authorization)
	serving(t, env, address, junction(t), "up", "--config", config, "--http", address, "--auth", "local")
	return "http://" + address
}
