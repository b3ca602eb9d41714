package clock

import (
	"strings"
	"testing"
	"time"
)

func TestZoneOfTheVariableTZ(t *testing.T) {
	for _, test := range []struct {
		tz             string
		winter, summer string // the offset and the name
	}{
		{"Europe/Berlin", "+01:00 CET", "+02:00 CEST"},
		{":Europe/Berlin", "+01:00 CET", "+02:00 CEST"},
		{"UTC", "Z UTC", "Z UTC"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "+01:00 CET", "+02:00 CEST"},
		{":CET-1CEST,M3.5.0,M10.5.0/3", "+01:00 CET", "+02:00 CEST"},
		{"EST5EDT,M3.2.0,M11.1.0", "-05:00 EST", "-04:00 EDT"},
		{"AEST-10AEDT,M10.1.0,M4.1.0/3", "+11:00 AEDT", "+10:00 AEST"},
		{"<+0330>-3:30", "+03:30 +0330", "+03:30 +0330"},
		{"IST-5:30", "+05:30 IST", "+05:30 IST"},
		{"XYZ0", "Z XYZ", "Z XYZ"},
	} {
		zone, err := Local(test.tz)
		if err != nil {
			t.Errorf("%s: %v", test.tz, err)
			continue
		}
		for month, want := range map[time.Month]string{time.January: test.winter, time.July: test.summer} {
			if got := time.Date(2026, month, 15, 12, 0, 0, 0, zone).Format("Z07:00 MST"); got != want {
				t.Errorf("%s in %v: %s, want %s", test.tz, month, got, want)
			}
		}
	}
	if zone, err := Local(""); err != nil || zone != time.Local {
		t.Errorf("nothing: %v, %v", zone, err)
	}
	for _, tz := range []string{"Nowhere/None", "Local", "CET-1CEST,nonsense", "/none/such", "A", "12", "CET-1\nUTC0"} {
		if zone, err := Local(tz); err == nil || !strings.HasPrefix(err.Error(), "the variable TZ: ") {
			t.Errorf("%q: %v, %v", tz, zone, err)
		}
	}
}
