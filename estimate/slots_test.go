package estimate_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"freshet/estimate"
)

func TestOracleSlotRates(t *testing.T) {
	b, err := os.ReadFile("testdata/periodic_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			ID    string
			Input struct {
				Obs [][2]json.RawMessage
				A   float64
			}
			Expected struct{ EM, Rates []float64 }
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Cases) != 3 {
		t.Fatalf("%d cases, want 3", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			var looks []estimate.SlotLook
			for _, o := range c.Input.Obs {
				var l estimate.SlotLook
				var changed int
				if err := json.Unmarshal(o[0], &l.Exposure); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(o[1], &changed); err != nil {
					t.Fatal(err)
				}
				l.Changed = changed == 1
				looks = append(looks, l)
			}
			want := append(c.Expected.EM, c.Expected.Rates...)
			for s, got := range estimate.SlotRates(looks, 2, c.Input.A) {
				if math.Abs(got-want[s]) > 1e-6 {
					t.Errorf("slot %d has a rate of %v, want %v", s, got, want[s])
				}
			}
		})
	}
}

// With many looks of uneven lengths the rates come near the truth, although no
// look tells when a change fell.
func TestSlotRatesFindTheRhythm(t *testing.T) {
	truth := []float64{0.05, 2, 0.4}
	r := rand.New(rand.NewPCG(1, 2))
	var looks []estimate.SlotLook
	for range 4000 {
		l := estimate.SlotLook{Exposure: make([]float64, len(truth))}
		sum := 0.0
		for s := range truth {
			if r.IntN(2) == 0 {
				l.Exposure[s] = r.Float64()
				sum += truth[s] * l.Exposure[s]
			}
		}
		l.Changed = r.Float64() < -math.Expm1(-sum)
		looks = append(looks, l)
	}
	for s, got := range estimate.SlotRates(looks, len(truth), 0) {
		if math.Abs(got-truth[s]) > 0.12*truth[s]+0.02 {
			t.Errorf("slot %d has a rate of %.3f, want about %.3f", s, got, truth[s])
		}
	}
}

func TestSlotRatesOfLittle(t *testing.T) {
	for _, looks := range [][]estimate.SlotLook{nil, {{Exposure: []float64{0, 0}, Changed: true}}, {{Exposure: []float64{1, 0}}}} {
		for s, got := range estimate.SlotRates(looks, 2, 0) {
			if got != 0 {
				t.Errorf("slot %d has a rate of %v, want none from %v", s, got, looks)
			}
		}
	}
}
