//! The currencies of ISO 4217 and how many decimals their amounts have.

/// Currencies in use, and those that were until lately, of two decimals.
const TWO: &str = "\
    AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD \
    CAD CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL \
    GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR \
    LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB \
    PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP \
    SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XCD YER ZAR ZMW ZWG ZWL";
/// Of none.
const NONE: &str = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF";
/// Of three.
const THREE: &str = "BHD IQD JOD KWD LYD OMR TND";
/// Of four.
const FOUR: &str = "CLF UYW";

/// How many decimals amounts of a currency have; `None` for what is no currency.
pub fn currency_decimals(code: &str) -> Option<usize> {
    [(TWO, 2), (NONE, 0), (THREE, 3), (FOUR, 4)]
        .into_iter()
        .find(|(codes, _)| codes.split(' ').any(|other| other == code))
        .map(|(_, decimals)| decimals)
}
