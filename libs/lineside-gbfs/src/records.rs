//! The records, with the names of version 3. Those of version 1 and 2 are converted to these.

use super::{
    record::record,
    values::{
        Count, Date, DisplayText, EnumValue, FormFactor, GbfsTime, Id, LanguageList,
        LocalizedTexts, LowercaseEnumValue, MultiPolygon, Number, Rfc3339Time, TypeCount,
        VehicleTypeCounts,
    },
};

record! {
    /// The operator of the system and its contacts.
    SystemInformation {
        system_id: Id = "system_id",
        languages: LanguageList = "languages".named_in_v2("language"),
        name: LocalizedTexts = "name",
        short_name: LocalizedTexts = "short_name",
        operator: LocalizedTexts = "operator",
        opening_hours: Option<DisplayText> = "opening_hours".only_in_v3(),
        url: Option<DisplayText> = "url",
        purchase_url: Option<DisplayText> = "purchase_url",
        start_date: Option<Date> = "start_date",
        termination_date: Option<Date> = "termination_date".only_in_v3(),
        phone_number: Option<DisplayText> = "phone_number",
        email: Option<DisplayText> = "email",
        feed_contact_email: Option<DisplayText> = "feed_contact_email",
        manifest_url: Option<DisplayText> = "manifest_url".only_in_v3(),
        timezone: Option<DisplayText> = "timezone",
        license_id: Option<DisplayText> = "license_id",
        license_url: Option<DisplayText> = "license_url",
        attribution_organization_name: LocalizedTexts = "attribution_organization_name",
        attribution_url: Option<DisplayText> = "attribution_url",
        terms_url: LocalizedTexts = "terms_url",
        terms_last_updated: Option<Date> = "terms_last_updated",
        privacy_url: LocalizedTexts = "privacy_url",
        privacy_last_updated: Option<Date> = "privacy_last_updated",
        brand_assets: Option<BrandAssets> = "brand_assets",
        rental_apps: Option<RentalApps> = "rental_apps",
    }
}

record! {
    /// Logos and colour of the system.
    BrandAssets {
        brand_last_modified: Option<Date> = "brand_last_modified",
        brand_terms_url: Option<DisplayText> = "brand_terms_url",
        brand_image_url: Option<DisplayText> = "brand_image_url",
        brand_image_url_dark: Option<DisplayText> = "brand_image_url_dark",
        color: Option<DisplayText> = "color",
    }
}

record! {
    /// Rental apps.
    RentalApps {
        android: Option<RentalApp> = "android",
        ios: Option<RentalApp> = "ios",
    }
}

record! {
    /// A rental app of one platform.
    RentalApp {
        store_uri: Option<DisplayText> = "store_uri",
        discovery_uri: Option<DisplayText> = "discovery_uri",
    }
}

record! {
    /// Deep links to rent a vehicle or at a station.
    RentalUris {
        android: Option<DisplayText> = "android",
        ios: Option<DisplayText> = "ios",
        web: Option<DisplayText> = "web",
    }
}

record! {
    /// A kind of vehicle.
    VehicleType {
        vehicle_type_id: Id = "vehicle_type_id",
        form_factor: Option<FormFactor> = "form_factor",
        rider_capacity: Option<Count> = "rider_capacity",
        cargo_volume_capacity: Option<Count> = "cargo_volume_capacity",
        cargo_load_capacity: Option<Count> = "cargo_load_capacity",
        propulsion_type: Option<EnumValue> = "propulsion_type",
        eco_labels: Vec<EcoLabel> = "eco_labels".with_aliases(&["eco_label"]),
        max_range_meters: Option<Number> = "max_range_meters",
        name: LocalizedTexts = "name",
        description: LocalizedTexts = "description".only_in_v3(),
        vehicle_accessories: Vec<EnumValue> = "vehicle_accessories",
        g_co2_km: Option<Count> = "g_CO2_km",
        vehicle_image: Option<DisplayText> = "vehicle_image",
        make: LocalizedTexts = "make",
        model: LocalizedTexts = "model",
        color: Option<DisplayText> = "color",
        wheel_count: Option<Count> = "wheel_count",
        max_permitted_speed: Option<Count> = "max_permitted_speed",
        rated_power: Option<Count> = "rated_power",
        default_reserve_time: Option<Count> = "default_reserve_time",
        return_constraint: Option<EnumValue> = "return_constraint",
        min_age: Option<Count> = "min_age".only_in_v3(),
        vehicle_assets: Option<VehicleAssets> = "vehicle_assets",
        default_pricing_plan_id: Option<Id> = "default_pricing_plan_id",
        pricing_plan_ids: Vec<Id> = "pricing_plan_ids".with_aliases(&["pricing_plans_ids"]),
    }
}

record! {
    /// An environmental label of a country for a vehicle.
    EcoLabel {
        country_code: Option<EnumValue> = "country_code",
        eco_sticker: Option<EnumValue> = "eco_sticker",
    }
}

record! {
    /// Icons of a kind of vehicle.
    VehicleAssets {
        icon_url: Option<DisplayText> = "icon_url",
        icon_url_dark: Option<DisplayText> = "icon_url_dark",
        icon_last_modified: Option<Date> = "icon_last_modified",
    }
}

record! {
    /// Static information about a station.
    StationInformation {
        station_id: Id = "station_id",
        name: LocalizedTexts = "name",
        short_name: LocalizedTexts = "short_name",
        lat: Option<Number> = "lat",
        lon: Option<Number> = "lon",
        address: Option<DisplayText> = "address",
        cross_street: Option<DisplayText> = "cross_street",
        region_id: Option<Id> = "region_id",
        post_code: Option<DisplayText> = "post_code",
        city: Option<DisplayText> = "city".only_in_v3(),
        station_opening_hours: Option<DisplayText> = "station_opening_hours".only_in_v3(),
        rental_methods: Vec<LowercaseEnumValue> = "rental_methods",
        is_virtual_station: Option<bool> = "is_virtual_station",
        station_area: Option<MultiPolygon> = "station_area",
        parking_type: Option<EnumValue> = "parking_type",
        parking_hoop: Option<bool> = "parking_hoop",
        contact_phone: Option<DisplayText> = "contact_phone",
        capacity: Option<Count> = "capacity",
        vehicle_types_capacity: VehicleTypeCounts
            = "vehicle_types_capacity".named_in_v2("vehicle_capacity").with_aliases(&["vehicle_type_area_capacity"]),
        vehicle_docks_capacity: VehicleTypeCounts
            = "vehicle_docks_capacity".named_in_v2("vehicle_type_capacity").with_aliases(&["vehicle_type_dock_capacity"]),
        is_valet_station: Option<bool> = "is_valet_station",
        is_charging_station: Option<bool> = "is_charging_station",
        rental_uris: Option<RentalUris> = "rental_uris",
    }
}

record! {
    /// The current status of a station.
    StationStatus {
        station_id: Id = "station_id",
        num_vehicles_available: Option<Count> = "num_vehicles_available".named_in_v2("num_bikes_available"),
        vehicle_types_available: Vec<TypeAvailable> = "vehicle_types_available",
        num_vehicles_disabled: Option<Count> = "num_vehicles_disabled".named_in_v2("num_bikes_disabled"),
        num_docks_available: Option<Count> = "num_docks_available",
        num_docks_disabled: Option<Count> = "num_docks_disabled",
        vehicle_docks_available: Vec<TypeCount> = "vehicle_docks_available",
        is_installed: Option<bool> = "is_installed",
        is_renting: Option<bool> = "is_renting",
        is_returning: Option<bool> = "is_returning",
        last_reported: Option<GbfsTime> = "last_reported",
    }
}

record! {
    /// Number of available vehicles of one kind at a station.
    TypeAvailable {
        vehicle_type_id: Id = "vehicle_type_id",
        count: Option<Count> = "count",
    }
}

record! {
    /// A vehicle for rent. Its id changes after each rental.
    VehicleStatus {
        vehicle_id: Id = "vehicle_id".named_in_v2("bike_id"),
        lat: Option<Number> = "lat",
        lon: Option<Number> = "lon",
        is_reserved: Option<bool> = "is_reserved",
        is_disabled: Option<bool> = "is_disabled",
        rental_uris: Option<RentalUris> = "rental_uris",
        vehicle_type_id: Option<Id> = "vehicle_type_id",
        last_reported: Option<GbfsTime> = "last_reported",
        current_range_meters: Option<Number> = "current_range_meters",
        current_fuel_percent: Option<Number> = "current_fuel_percent",
        station_id: Option<Id> = "station_id",
        home_station_id: Option<Id> = "home_station_id",
        pricing_plan_id: Option<Id> = "pricing_plan_id",
        vehicle_equipment: Vec<EnumValue> = "vehicle_equipment",
        available_until: Option<Rfc3339Time> = "available_until",
    }
}

record! {
    /// Future availability of a vehicle.
    VehicleAvailability {
        vehicle_id: Id = "vehicle_id",
        vehicle_type_id: Option<Id> = "vehicle_type_id",
        station_id: Option<Id> = "station_id",
        pricing_plan_id: Option<Id> = "pricing_plan_id",
        vehicle_equipment: Vec<EnumValue> = "vehicle_equipment",
        availabilities: Vec<Availability> = "availabilities",
    }
}

record! {
    /// A period in which a vehicle is available.
    Availability {
        from: Option<Rfc3339Time> = "from",
        until: Option<Rfc3339Time> = "until",
    }
}

record! {
    /// A region of the service area.
    Region {
        region_id: Id = "region_id",
        name: LocalizedTexts = "name",
    }
}

record! {
    /// The price of a rental.
    PricingPlan {
        plan_id: Id = "plan_id",
        url: Option<DisplayText> = "url",
        name: LocalizedTexts = "name",
        currency: Option<EnumValue> = "currency",
        price: Option<Number> = "price",
        reservation_price_per_min: Option<Number> = "reservation_price_per_min".only_in_v3(),
        reservation_price_flat_rate: Option<Number> = "reservation_price_flat_rate".only_in_v3(),
        is_taxable: Option<bool> = "is_taxable",
        description: LocalizedTexts = "description",
        per_km_pricing: Vec<Rate> = "per_km_pricing",
        per_min_pricing: Vec<Rate> = "per_min_pricing",
        surge_pricing: Option<bool> = "surge_pricing",
    }
}

record! {
    /// A segment of the price per kilometre or minute.
    Rate {
        start: Option<Number> = "start",
        rate: Option<Number> = "rate",
        interval: Option<Number> = "interval",
        end: Option<Number> = "end",
    }
}

record! {
    /// A notice for customers.
    Alert {
        alert_id: Id = "alert_id",
        kind: Option<LowercaseEnumValue> = "type",
        times: Vec<Period> = "times",
        station_ids: Vec<Id> = "station_ids",
        region_ids: Vec<Id> = "region_ids",
        url: LocalizedTexts = "url",
        summary: LocalizedTexts = "summary",
        description: LocalizedTexts = "description",
        last_updated: Option<GbfsTime> = "last_updated",
    }
}

record! {
    /// A period in which a notice applies.
    Period {
        start: Option<GbfsTime> = "start",
        end: Option<GbfsTime> = "end",
    }
}

record! {
    /// Rental hours, in version 1 and 2.
    RentalHours {
        user_types: Vec<LowercaseEnumValue> = "user_types",
        days: Vec<LowercaseEnumValue> = "days",
        start_time: Option<DisplayText> = "start_time",
        end_time: Option<DisplayText> = "end_time",
    }
}

record! {
    /// The days of the year on which a system runs, in version 1 and 2.
    Calendar {
        start_month: Option<Count> = "start_month",
        start_day: Option<Count> = "start_day",
        start_year: Option<Count> = "start_year",
        end_month: Option<Count> = "end_month",
        end_day: Option<Count> = "end_day",
        end_year: Option<Count> = "end_year",
    }
}

record! {
    /// The system's feed in one version.
    VersionEntry {
        version: Option<EnumValue> = "version",
        url: Option<DisplayText> = "url",
    }
}

record! {
    /// A system of a manifest.
    Dataset {
        system_id: Id = "system_id",
        versions: Vec<VersionEntry> = "versions",
        area: Option<MultiPolygon> = "area",
        country_code: Option<EnumValue> = "country_code",
    }
}
