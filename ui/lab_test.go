package ui_test

import (
	"testing"
)

// The lab is asked on the page, shows how far it has come and what became of it, is found
// again at its address, and its reports can be read.
func TestLab(t *testing.T) {
	r := open(t, "127.0.0.1:0")
	r.furnish()
	b := r.tab(1440, 1000, "light")
	b.visit("/lab", "document.querySelectorAll('.policies input').length > 5")
	b.fill("Budgets", "1/s, nonsense")
	b.click("Replay")
	b.await("document.querySelector('.field .wrong')?.innerText.includes('nonsense')")
	b.fill("Budgets", "1/s, 10/s, 50/s")
	b.click("As curl")
	b.await("[...document.querySelectorAll('.as pre')].some(e => e.innerText == 'freshet lab run --policies auto,uniform,frequency --budgets 1/s,10/s,50/s')")
	b.click("Replay")
	b.await("location.pathname == '/lab/1' && document.querySelectorAll('.curves path').length >= 4")
	b.await("document.querySelector('.curves').innerText.includes('limit')")
	b.await("document.querySelectorAll('.scroll tbody tr').length == 4")
	b.click("Age")
	b.await("location.search == '?show=age' && document.querySelector('.section h2 ~ *') && [...document.querySelectorAll('h2')].some(h => h.innerText == 'Age, by budget')")
	b.click("Captured")
	b.click("10/s")
	b.await("[...document.querySelectorAll('h2')].some(h => h.innerText == 'At 10/s')")
	b.click("Numbers")
	b.await("document.querySelectorAll('.numbers tbody tr').length == 12")
	b.expects(422) // a wrong budget was refused
	b.look("lab-desktop-light", "/lab/1", "document.querySelectorAll('.curves path').length >= 4")
	b.resize(390, 844, "dark")
	b.look("lab-phone-dark", "/lab/1", "document.querySelectorAll('.curves path').length >= 4")
	b.look("papers-phone-dark", "/lab/papers", "document.querySelectorAll('.document h2').length > 2")
	b.visit("/lab/results", "document.querySelectorAll('.document h2').length > 2")
	b.clean("/lab/results")
	b.visit("/lab/1", "document.querySelectorAll('.curves path').length >= 4")
	b.click("Forget this run")
	b.await("location.pathname == '/lab' && document.querySelectorAll('.pick a').length == 0")
	b.clean("lab")
}
