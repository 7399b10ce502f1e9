package noise

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// ageUnits are the units that ages are counted in, with their seconds.
var ageUnits = func() map[string]int {
	all := map[string]int{}
	for seconds, words := range map[int]string{
		1: `second seconds sec secs s sekunde sekunden seconde secondes segundo segundos secondi secondo seconden sekund sekundy sekundę sekunder
			секунда секунды секунду секунд сек секунди saniye sn detik giây ثانية ثوان ثواني ثانیه سیکنڈ sekunde segundos dakikoki`,
		60: `minute minutes min mins m minuten minuto minutos minuti minuut minut minuty minutę minuter minutter
			минута минуты минуту минут мин хвилина хвилини хвилину хвилин dakika dk menit phút دقيقة دقائق دقیقه منٹ dakikas minuto`,
		3600: `hour hours hr hrs h stunde stunden heure heures hora horas ora ore uur uren godzina godziny godzinę godzin godz timme timmar time timer
			час часа часов ч година години годину годин saat sa jam giờ tiếng ساعة ساعات ساعت گھنٹہ گھنٹے oras awanni awa saa`,
		86400: `day days d tag tagen jour jours día días dia dias giorni giorno dag dagen dni dzień dagar dage
			день дня дней дн дні днів gün hari ngày يوم أيام يوما روز دن araw kwanaki siku`,

		7 * 86400: `week weeks w woche wochen semaine semaines semana semanas settimana settimane weken tydzień tygodnie tygodni vecka veckor uge uger uke uker
			неделя недели неделю недель тиждень тижні тижнів hafta minggu pekan tuần أسبوع أسابيع هفته ہفتہ ہفتے linggo makonni wiki`,
		30 * 86400: `month months mo monat monaten mois mes meses mês mese mesi maand maanden miesiąc miesiące miesięcy månad månader måned måneder
			месяц месяца месяцев місяць місяці місяців ay bulan tháng شهر أشهر شهور ماه مہینہ مہینے buwan watanni mwezi miezi`,
		365 * 86400: `year years yr yrs y jahr jahren an ans année années año años ano anos anno anni jaar rok lata lat år
			год года лет рік роки років yıl sene tahun năm سنة سنوات عام أعوام سال taon shekaru mwaka miaka`,
	} {
		for _, word := range strings.Fields(words) {
			all[word] = seconds
		}
	}
	return all
}()

// unitsBefore stand before their number.
var unitsBefore = lexiconOf(`dakika saa siku wiki miezi miaka awanni kwanaki makonni watanni shekaru`)

// lonelyUnits are one or two of a unit without a number.
var lonelyUnits = func() map[string]int {
	all := map[string]int{}
	for seconds, words := range map[int]string{
		1: `ثانية секунду sekundę`, 2: `ثانيتين`,
		60: `دقيقة минуту хвилину minutę semenit`, 120: `دقيقتين`,
		3600: `ساعة час годину godzinę sejam`, 7200: `ساعتين`,
		86400: `يوم день sehari`, 2 * 86400: `يومين`,
		7 * 86400: `أسبوع неделю тиждень tydzień seminggu`, 14 * 86400: `أسبوعين`,
		30 * 86400: `شهر месяц місяць miesiąc sebulan`, 60 * 86400: `شهرين`,
		365 * 86400: `سنة عام год рік rok setahun`, 730 * 86400: `سنتين عامين`,
	} {
		for _, word := range strings.Fields(words) {
			all[word] = seconds
		}
	}
	return all
}()

// A fusedUnit is a unit with what makes it an age, one of several.
type fusedUnit struct {
	unit    string
	seconds int
	agos    string
}

// fused are the units of ages that fusedAge reads, by how they begin, the longest first.
var fused = func() map[rune][]fusedUnit {
	all := map[rune][]fusedUnit{}
	for _, l := range []struct {
		agos  string
		units [7]string // of seconds, minutes, hours, days, weeks, months and years
	}{
		{"前", [7]string{"秒 秒钟 秒鐘", "分 分钟 分鐘", "小时 小時 个小时 個小時 時間", "天 日", "周 週 週間 星期 个星期 個星期", "个月 個月 か月 ヶ月 カ月 ヵ月 ケ月", "年"}}, // Chinese, Japanese
		{"전", [7]string{"초", "분", "시간", "일", "주 주일", "개월 달", "년"}}, // Korean
		{"पहले|पूर्व", [7]string{"सेकंड सेकेंड सेकण्ड", "मिनट", "घंटे घंटा घण्टे घण्टा", "दिन", "सप्ताह हफ़्ते हफ्ते हफ़्ता", "महीने महीना माह", "साल वर्ष"}},                                                                                                               // Hindi
		{"পূর্বে|আগে", [7]string{"সেকেন্ড", "মিনিট", "ঘণ্টা ঘন্টা", "দিন", "সপ্তাহ", "মাস", "বছর"}},                                                                                                                                                                         // Bengali
		{"पूर्वी", [7]string{"सेकंदां सेकंदा", "मिनिटां मिनिटा", "तासां तासा", "दिवसां दिवसा", "आठवड्यां आठवड्या", "महिन्यां महिन्या", "वर्षां वर्षा"}},                                                                                                                     // Marathi
		{"క్రితం", [7]string{"సెకన్ల సెకను", "నిమిషాల నిమిషం", "గంటల గంట", "రోజుల రోజు", "వారాల వారం", "నెలల నెల", "సంవత్సరాల సంవత్సరం"}},                                                                                                                                   // Telugu
		{"முன்பு|முன்", [7]string{"விநாடிகளுக்கு வினாடிகளுக்கு", "நிமிடங்களுக்கு நிமிடத்திற்கு", "மணிநேரத்திற்கு மணி_நேரத்திற்கு மணிநேரங்களுக்கு", "நாட்களுக்கு நாளுக்கு", "வாரங்களுக்கு வாரத்திற்கு", "மாதங்களுக்கு மாதத்திற்கு", "ஆண்டுகளுக்கு ஆண்டுக்கு வருடங்களுக்கு"}}, // Tamil
		{"ਪਹਿਲਾਂ", [7]string{"ਸਕਿੰਟ", "ਮਿੰਟ", "ਘੰਟੇ ਘੰਟਾ", "ਦਿਨ", "ਹਫ਼ਤੇ ਹਫ਼ਤਾ", "ਮਹੀਨੇ ਮਹੀਨਾ", "ਸਾਲ"}},                                                                                                                                                                     // Punjabi
		{"ที่แล้ว|ที่ผ่านมา|ก่อน", [7]string{"วินาที", "นาที", "ชั่วโมง", "วัน", "สัปดาห์", "เดือน", "ปี"}},                                                                                                                                                                 // Thai
	} {
		for i, units := range l.units {
			seconds := [7]int{1, 60, 3600, 86400, 7 * 86400, 30 * 86400, 365 * 86400}[i]
			for _, unit := range strings.Fields(units) {
				unit = strings.ReplaceAll(unit, "_", " ")
				first, _ := utf8.DecodeRuneInString(unit)
				all[first] = append(all[first], fusedUnit{unit, seconds, l.agos})
			}
		}
	}
	for _, list := range all {
		slices.SortStableFunc(list, func(a, b fusedUnit) int { return len(b.unit) - len(a.unit) })
	}
	return all
}()
