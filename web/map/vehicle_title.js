/** The name of a vehicle, which the list and the card share. */

/** Returns "Vehicle" and its label or id. @param {{id: string, record: any}} vehicle */
export const vehicleTitle = ({ id, record }) => `Vehicle ${record.vehicle?.label || record.vehicle?.id || id}`;
