//! The currencies of ISO 4217, including former ones, and the decimals of their amounts.

/// Currencies with two decimals.
const TWO: &str = "\
    AED AFA AFN ALL AMD ANG AOA ARS ATS AUD AWG AYM AZM AZN BAM BBD BDT BGL BGN BMD BND BOB BOV BRL \
    BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CSD CUC CUP CVE CYP CZK DEM DKK DOP DZD \
    EEK EGP ERN ETB EUR FIM FJD FKP FRF GBP GEL GHC GHS GIP GMD GTQ GWP GYD HKD HNL HRK HTG HUF IDR \
    IEP ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL LTL LVL MAD MDL MGA MKD MMK MNT \
    MOP MRO MRU MTL MUR MVR MWK MXN MXV MYR MZM MZN NAD NGN NIO NLG NOK NPR NZD PAB PEN PGK PHP PKR \
    PLN QAR RON RSD RUB RUR SAR SBD SCR SDD SDG SEK SGD SHP SIT SKK SLE SLL SOS SRD SRG SSP STD STN \
    SVC SYP SZL THB TJS TMM TMT TOP TRY TTD TWD TZS UAH USD USN USS UYU UZS VEB VED VEF VES WST XCD \
    XCG YER YUM ZAR ZMK ZMW ZWD ZWG ZWL ZWN ZWR";
/// Currencies without decimals.
const NONE: &str = "\
    ADP BEF BIF BYB BYR CLP DJF ESP GNF GRD ISK ITL JPY KMF KRW LUF MGF PTE PYG ROL RWF TPE TRL UGX \
    UYI VND VUV XAF XOF XPF";
/// Currencies with three decimals.
const THREE: &str = "BHD IQD JOD KWD LYD OMR TND";
/// Currencies with four decimals.
const FOUR: &str = "CLF";
/// Metals, funds and similar codes, for which no amount is valid.
const NO_MONEY: &str = "XAG XAU XBA XBB XBC XBD XDR XFO XFU XPD XPT XSU XTS XUA X\x58X";

/// Returns the number of decimals of a currency, or -1 for codes that are not money; `None` for
/// unknown codes.
pub fn currency_decimals(code: &str) -> Option<i64> {
    [(TWO, 2), (NONE, 0), (THREE, 3), (FOUR, 4), (NO_MONEY, -1)]
        .into_iter()
        .find(|(codes, _)| codes.split(' ').any(|other| other == code))
        .map(|(_, decimals)| decimals)
}
