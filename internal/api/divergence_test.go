package api_test

import (
	"fmt"
	"math"
	"testing"

	"freshet/client"
)

// How far copies of a value were from their sources is worked out from the changes that were seen,
// as a difference and as a part of the larger value.
func TestDivergenceOfValues(t *testing.T) {
	r := learningRig(t)
	for _, id := range []string{"shop", "other"} {
		r.Origin.Put("/"+id, "text/html", `<p class="price">100</p>`)
	}
	add := func(id string, extract map[string]any) {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + id, "extract": extract}).is(201)
	}
	add("shop", map[string]any{"price": "css .price | number"})
	add("other", map[string]any{"cost": "css .price | number"})
	r.run()
	for _, price := range []string{"100", "110", "sold out", "90"} {
		for _, id := range []string{"shop", "other"} {
			r.Origin.Put("/"+id, "text/html", fmt.Sprintf(`<p class="price">%s</p>`, price))
			r.poll(id)
		}
	}
	var plain, relative client.Divergences
	r.do("GET", "/api/v1/numbers/divergence?field=price", nil).is(200).into(&plain)
	r.do("GET", "/api/v1/numbers/divergence?field=price&relative=true", nil).is(200).into(&relative)
	if plain.Sources != 1 || len(plain.Items) != 1 || plain.Items[0].Source != "shop" || plain.All.Changes != 1 || plain.All.Unknown != 2 {
		t.Fatalf("the divergence of the price is %+v, want one of the shop with a change between numbers and two to and from none", plain)
	}
	mean := plain.All.Mean
	if !(mean.Mean > 0) || mean.Mean > 10 || mean.Low > mean.Mean || mean.High < mean.Mean {
		t.Errorf("a copy that was off by 10 for a while was off by %+v on average", mean)
	}
	if got := relative.All.Mean.Mean * 110; math.Abs(got/mean.Mean-1) > 1e-9 {
		t.Errorf("relative to 110 it was off by %v, want %v", got, mean.Mean)
	}
	var none client.Divergences
	if r.do("GET", "/api/v1/numbers/divergence?field=none", nil).is(200).into(&none); none.Sources != 0 || none.All.Changes != 0 {
		t.Errorf("of a value that no source has there is %+v", none)
	}
	r.do("GET", "/api/v1/numbers/divergence", nil).is(422)
}
