package registry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestWordsOfAnyLanguageAreFound(t *testing.T) {
	f := newFake(t)
	for name, description := range map[string]string{
		"cn.example/tianqi":      "查询天气预报和空气质量",
		"jp.example/tenki":       "天気予報を取得するサーバー。がっこうの時間割も",
		"kr.example/nalssi":      "날씨 정보를 제공합니다",
		"de.example/wetter":      "Wetter für Österreich und Straßenzustand",
		"ru.example/pogoda":      "Прогноз погоды и ИИ для городов",
		"org.example/ai-tools":   "Tools for AI and S3",
		"org.example/email":      "Sends e-mail and available messages",
		"org.example/postgresql": "Query a PostgreSQL database",
		"th.example/akat":        "พยากรณ์อากาศ",
	} {
		f.publish(day(1), serverJSON(name, "1.0.0", description, ""))
	}
	m := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, m)
	for words, want := range map[string][]string{
		"天气":           {"cn.example/tianqi"},
		"天":            {"cn.example/tianqi", "jp.example/tenki"},
		"空气质量":         {"cn.example/tianqi"},
		"天気予報":         {"jp.example/tenki"},
		"サーバー":         {"jp.example/tenki"},
		"ｻｰﾊﾞｰ":        {"jp.example/tenki"}, // half width
		"かっこう":         {},                   // does not match がっこう
		"날씨":           {"kr.example/nalssi"},
		"osterreich":   {"de.example/wetter"},
		"STRASSEN":     {"de.example/wetter"},
		"погоды":       {"ru.example/pogoda"},
		"ии":           {"ru.example/pogoda"},
		"ai":           {"org.example/ai-tools"}, // does not match e-mail or available
		"s3":           {"org.example/ai-tools"},
		"ai s3":        {"org.example/ai-tools"},
		"sql":          {"org.example/postgresql"},
		"Postgre-SQL!": {"org.example/postgresql"},
		"อากาศ":        {"th.example/akat"},
		"nothing such": {},
	} {
		got := names(t, m, words)
		for i, name := range want {
			if len(got) <= i || got[i] != name {
				t.Errorf("%q finds %q, want %q", words, got, want)
				break
			}
		}
		if len(got) > len(want) {
			t.Errorf("%q finds %q, want %q", words, got, want)
		}
	}
	for _, words := range []string{"", "  ", "\"'()*:^-+", "\x00\xff"} {
		if _, err := m.Search(t.Context(), Search{Words: words}); !errors.Is(err, ErrNoWords) {
			t.Errorf("%q: %v", words, err)
		}
	}
	if _, err := m.Search(t.Context(), Search{Words: strings.Repeat("weather ", 1000)}); err != nil {
		t.Errorf("many words: %v", err)
	}
}

func TestTheBestServerComesFirst(t *testing.T) {
	f := newFake(t)
	good := `"title":"%s","repository":{"url":"https://git.example/x","source":"github"},"packages":[{"registryType":"npm","identifier":"x","version":"1.0.0","transport":{"type":"stdio"}}]`
	f.publish(day(-900), serverJSON("io.github.old/weather-service", "0.1.0", "Weather", ""))
	f.publish(day(90), serverJSON("io.github.new/weather-service", "1.0.0", "Weather forecasts for every town", fmt.Sprintf(good, "Weather")))
	f.publish(day(90), serverJSON("io.github.gone/weather", "1.0.0", "Weather forecasts for every town", fmt.Sprintf(good, "Weather")))
	f.set(day(91), "io.github.gone/weather", "1.0.0", Deprecated, "")
	f.publish(day(90), serverJSON("io.github.spam/weather", "1.0.0", "Weather forecasts for every town", ""))
	f.set(day(91), "io.github.spam/weather", "1.0.0", Deleted, "")
	f.publish(day(90), serverJSON("io.github.a/travel", "1.0.0", "Plans trips, and tells the weather on the way", fmt.Sprintf(good, "Travel")))
	f.publish(day(90), serverJSON("io.github.b/travel", "1.0.0", "Plans trips", fmt.Sprintf(good, "Travel")))
	m := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, m)
	wantNames(t, m, "weather", "io.github.new/weather-service", "io.github.old/weather-service", "io.github.a/travel", "io.github.gone/weather")
	wantNames(t, m, "travel weather", "io.github.a/travel", "io.github.new/weather-service", "io.github.b/travel", "io.github.old/weather-service", "io.github.gone/weather")
	wantNames(t, m, "io.github.b/travel", "io.github.b/travel", "io.github.a/travel", "io.github.new/weather-service", "io.github.old/weather-service", "io.github.gone/weather")
	found, err := m.Search(t.Context(), Search{Words: "weather", Limit: 1})
	if err != nil || len(found.Entries) != 1 || found.Total != 4 {
		t.Errorf("with a limit: %d of %d, %v", len(found.Entries), found.Total, err)
	}
}

func TestTheFirstSourceDefinesAServer(t *testing.T) {
	public, private := newFake(t), newFake(t)
	private.token = "sesame"
	public.publish(day(5), serverJSON("org.example/both", "2.0.0", "A thing of the public", ""))
	public.publish(day(5), serverJSON("org.example/pulled", "1.0.0", "Pulled back", ""))
	public.set(day(6), "org.example/pulled", "1.0.0", Deleted, "")
	private.publish(day(5), serverJSON("org.example/both", "1.5.0", "A thing of the house", ""))
	private.publish(day(5), serverJSON("org.example/pulled", "1.0.0", "Kept here", ""))
	secret := Source{Name: "house", URL: private.URL, Token: fixedToken("sesame")}
	m := newMirror(t, secret, Source{Name: "public", URL: public.URL})
	syncAll(t, m)
	wantNames(t, m, "thing", "org.example/both")
	e, err := m.Lookup(t.Context(), "org.example/both")
	if err != nil || e.Source != "house" || e.Server.Version != "1.5.0" || len(e.Also) != 1 || e.Also[0] != "public" {
		t.Errorf("looked up %+v, %v", e, err)
	}
	other := mirrorOf(t, m.file.Path(), Source{Name: "public", URL: public.URL}, secret)
	found, err := other.Search(t.Context(), Search{Words: "thing"})
	if err != nil || len(found.Entries) != 1 || found.Entries[0].Source != "public" || found.Entries[0].Server.Version != "2.0.0" || found.Entries[0].Also[0] != "house" {
		t.Errorf("in the other order: %+v, %v", found, err)
	}
	if e, err := other.Lookup(t.Context(), "org.example/pulled"); err != nil || e.Source != "house" || e.Status != Active {
		t.Errorf("deleted in the first source only: %+v, %v", e, err)
	}
	alone := mirrorOf(t, m.file.Path(), Source{Name: "public", URL: public.URL})
	wantNames(t, alone, "house")
}
