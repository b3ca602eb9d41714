package sql

import (
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// A target is the database that a DSN names.
type target struct {
	dialect     *dialect
	read, write driver.Connector
	secrets     []string // texts to hide in errors
	name        string   // name of the database or its file
	identity    string   // identifies the database, without the password
}

// authority returns the authority in the URIs of a database's resources. It differs for databases
// behind the same gateway.
func (t *target) authority(write bool) string {
	name := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(t.name))
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %t", t.identity, write))
	return fmt.Sprintf("%.40s-%x", name, sum[:4])
}

// parseDSN parses a DSN. Its errors omit the DSN, which contains the password.
func parseDSN(dsn string, timeout time.Duration) (*target, error) {
	scheme, rest, ok := strings.Cut(dsn, ":")
	if !ok {
		return nil, errors.New("the DSN has no scheme: expected sqlite:FILE, mysql://USER:PASSWORD@HOST/DATABASE or postgres://USER:PASSWORD@HOST/DATABASE")
	}
	scheme = strings.ToLower(scheme)
	if scheme == "sqlite" {
		return sqliteTarget(rest)
	}
	open := map[string]func(*url.URL, time.Duration) (*target, error){
		"mysql": mysqlTarget, "mariadb": mysqlTarget, "postgres": postgresTarget, "postgresql": postgresTarget,
	}[scheme]
	if open == nil {
		return nil, errors.New("the scheme of the DSN is unknown: expected sqlite, mysql, mariadb, postgres or postgresql")
	}
	u, err := url.Parse(dsn)
	if err != nil || u.Opaque != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the DSN is not of the form %s://USER:PASSWORD@HOST:PORT/DATABASE; in the password, percent-encode all characters but letters and digits", scheme)
	}
	t, err := open(u, timeout)
	if err != nil {
		return nil, errors.New(hide(err.Error(), secretsOf(u)))
	}
	t.secrets = secretsOf(u)
	t.name, t.identity = path.Base("/"+u.Path), u.Scheme+" "+u.User.Username()+" "+u.Host+" "+u.Path
	if t.name == "/" {
		t.name = u.Hostname()
	}
	return t, nil
}

// secretsOf returns the texts in a DSN that errors must hide.
func secretsOf(u *url.URL) []string {
	secrets := []string{u.String()}
	if password, ok := u.User.Password(); ok && password != "" {
		secrets = append(secrets, password, url.QueryEscape(password), url.PathEscape(password))
	}
	for name, values := range u.Query() {
		if strings.Contains(strings.ToLower(name), "password") {
			secrets = append(secrets, values...)
		}
	}
	return secrets
}

func hide(text string, secrets []string) string {
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
		}
	}
	return text
}

// checkParameters returns an error if a DSN has an unknown parameter.
func checkParameters(u *url.URL, names ...string) error {
	for name := range u.Query() {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the DSN has the parameter %q; a %s DSN can have %s", name, u.Scheme, strings.Join(names, ", "))
		}
	}
	return nil
}
